"""Where the lines of `landfast.telemetry` go in processes of our own."""

from __future__ import annotations

import logging
import sys


def to_stderr(role: str) -> None:
    """Standard output is for what the command was asked for. The pid tells apart what several processes write."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter(f"%(asctime)s %(levelname)-7s {role} %(process)d  %(message)s"))
    ours = logging.getLogger("landfast")
    ours.addHandler(handler)
    ours.setLevel(logging.INFO)
    ours.propagate = False
