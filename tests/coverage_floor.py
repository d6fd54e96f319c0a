"""After the tests of `make coverage`: the branch coverage of the parts that keep the promises may not fall below its floor."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import coverage

FLOOR = 95.0
"""Per cent, for each of these on its own."""

PARTS = ("domain", "intake", "processing", "recovery")


def main() -> int:
    measured = coverage.Coverage()
    measured.combine() if list(Path().glob(".coverage.*")) else measured.load()
    measured.save()
    failed = False
    for part in PARTS:
        listing = io.StringIO()
        percent = measured.report(include=[f"*/landfast/{part}/*"], file=listing, show_missing=True, skip_covered=True)
        print(f"branch coverage of {part}: {percent:.1f} %")
        if percent < FLOOR:
            print(listing.getvalue())
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
