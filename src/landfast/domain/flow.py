"""A flow: the ready events of one source and type. Claims are shared among flows."""

from __future__ import annotations

from typing import NamedTuple


class Flow(NamedTuple):
    source: str
    type: str
    first: int = 0
    """The place of its oldest ready event: a smaller one has waited longer. Only comparable within one inbox."""
