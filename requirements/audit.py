"""`make audit`: was everything that an installation contains looked at, and is any of it known to be vulnerable?

The first question needs no network: `reviewed.txt` names each version with a digest of its hashes, and whatever else is
pinned fails. The second is asked of the public OSV database, and is skipped aloud where nobody answers: no machine
without a network may fail for it.
"""

from __future__ import annotations

import json
import os
import sys
from urllib.error import URLError
from urllib.request import Request, urlopen

from locks import HERE, SHIPPED, Pinned, pinned

REVIEWED = HERE / "reviewed.txt"

DATABASE = os.environ.get("LANDFAST_AUDIT_URL", "https://api.osv.dev/v1/querybatch")

PATIENCE = 10.0
"""Seconds: it is one request, and a machine behind a firewall must not hold up a build."""


def main() -> int:
    parts = sorted({each for lock in SHIPPED for each in pinned(lock)})
    problems = [*unreviewed(parts)]
    try:
        problems += vulnerable(parts)
        print(f"audit: {len(parts)} versions asked of the database of vulnerabilities")
    except (URLError, OSError, ValueError, KeyError) as error:
        print(f"audit: no database of vulnerabilities was asked ({type(error).__name__}); reviewed.txt alone decides")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def unreviewed(parts: list[Pinned]) -> list[str]:
    lines = [line.split() for line in REVIEWED.read_text().splitlines() if line and not line.startswith("#")]
    known = {(line[0], line[1]) for line in lines}
    return [
        f"{part.name}=={part.version} was not reviewed: look at what changed, then add to requirements/reviewed.txt:"
        f"\n  {part.name}=={part.version}  {part.digest}  DATE  WHAT YOU LOOKED AT"
        for part in parts
        if (f"{part.name}=={part.version}", part.digest) not in known
    ]


def vulnerable(parts: list[Pinned]) -> list[str]:
    queries = [{"package": {"ecosystem": "PyPI", "name": part.name}, "version": part.version} for part in parts]
    asked = Request(DATABASE, json.dumps({"queries": queries}).encode(), {"Content-Type": "application/json"})  # noqa: S310 - https, unless a test says otherwise
    with urlopen(asked, timeout=PATIENCE) as answer:  # noqa: S310 - the same
        results = json.load(answer)["results"]
    return [
        f"{part.name}=={part.version} is known to be vulnerable: {', '.join(each['id'] for each in found['vulns'])}"
        for part, found in zip(parts, results, strict=True)
        if found.get("vulns")
    ]


if __name__ == "__main__":
    sys.exit(main())
