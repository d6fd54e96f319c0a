"""`make sbom`: what an installation of Landfast contains, as CycloneDX 1.6 in JSON.

Which parts, versions and hashes, the locks say; who needs whom, what is installed here says. Written here, because one
tool less is one dependency less. The same locks and the same installation give the same bytes: it has no time in it.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
import uuid
from importlib import metadata
from pathlib import Path
from typing import Any

from locks import HERE, INSTALLED, Pinned, pinned

ROOT = HERE.parent


def bill() -> dict[str, Any]:
    parts = [(each, lock) for lock in INSTALLED for each in pinned(lock)]
    us = _landfast()
    known = {each.name: _purl(each.name, each.version) for each, _ in parts}
    components = [_component(each, is_optional=lock == "extras") for each, lock in parts]
    made = {"components": components, "dependencies": _dependencies(us, known)}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        # Of what is in it, so that the same locks have the same.
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(made, sort_keys=True))}",
        "version": 1,
        "metadata": {"component": us},
        **made,
    }


def _landfast() -> dict[str, Any]:
    version = re.search(r'__version__ = "([^"]+)"', (ROOT / "src/landfast/__init__.py").read_text())
    if version is None:
        raise SystemExit("src/landfast/__init__.py has no __version__")
    purl = _purl("landfast", version[1])
    licences = [{"license": {"id": "Apache-2.0"}}]
    return {
        "type": "application",
        "bom-ref": purl,
        "name": "landfast",
        "version": version[1],
        "purl": purl,
        "licenses": licences,
    }


def _component(part: Pinned, *, is_optional: bool) -> dict[str, Any]:
    purl = _purl(part.name, part.version)
    return {
        "type": "library",
        "bom-ref": purl,
        "name": part.name,
        "version": part.version,
        "purl": purl,
        "scope": "optional" if is_optional else "required",
        # Of every file of this version: which one is installed depends on the machine.
        "hashes": [{"alg": "SHA-256", "content": each} for each in part.hashes],
    }


def _dependencies(us: dict[str, Any], known: dict[str, str]) -> list[dict[str, Any]]:
    """Who needs whom, as far as what is installed here says it; an optional need counts where the lock has it."""
    direct = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    graph = [{"ref": us["bom-ref"], "dependsOn": _known_among(direct, known)}]
    for name, purl in known.items():
        try:
            needs = metadata.requires(name) or []
        except metadata.PackageNotFoundError:  # of another platform
            needs = []
        graph.append({"ref": purl, "dependsOn": _known_among(needs, known)})
    return graph


def _known_among(needs: list[str], known: dict[str, str]) -> list[str]:
    names = {re.split(r"[^A-Za-z0-9._-]", need)[0].lower().replace("_", "-") for need in needs}
    return sorted(known[each] for each in names & known.keys())


def _purl(name: str, version: str) -> str:
    return f"pkg:pypi/{name.replace('_', '-')}@{version}"


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(bill(), indent=2) + "\n")
    print(f"{target}: {len(bill()['components'])} components")
