"""A Python in which some modules cannot be imported, as if they were not installed."""

from __future__ import annotations

import os
from pathlib import Path

_HIDE = """
import os, sys
for name in os.environ["HIDDEN_MODULES"].split(","):
    sys.modules[name] = None  # `import` then says that there is no such module
"""


def hiding(*modules: str, folder: Path) -> dict[str, str]:
    """The environment of a process, and of its children, that finds none of them. Python imports `sitecustomize` before
    anything else."""
    place = folder / "hiding"
    place.mkdir(exist_ok=True)
    (place / "sitecustomize.py").write_text(_HIDE)
    paths = [str(place), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(paths), "HIDDEN_MODULES": ",".join(modules)}
