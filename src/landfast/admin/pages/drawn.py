"""The only place where text becomes markup unescaped: drawings of ours, which have escaped what they quote."""

from __future__ import annotations

import re

from markupsafe import Markup


def drawn(svg: str) -> Markup:
    """Of `admin/charts/`, `operations/graph_svg.py` and `operations/lifecycle_diagram.py`, and of nothing else."""
    return Markup(svg)  # noqa: S704 - tests/admin/pages/test_charts.py shows that whatever a name says stays text


WIDE_PIXELS = 900
"""Up to four boxes in a row are made to fit their card. A wider drawing would be too small to read, and is scrolled."""


def is_wide(drawing: str) -> bool:
    found = re.search(r'width="(\d+)', drawing)
    return found is not None and int(found[1]) > WIDE_PIXELS
