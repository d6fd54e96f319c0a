"""What the parameters of questions and commands are made of, each with its bounds."""

from __future__ import annotations

from typing import Annotated

import msgspec

FilterText = Annotated[
    str,
    msgspec.Meta(
        max_length=2_000,
        description="Terms of the filter language, such as `source:stripe type:invoice.* state:dead since:2h`.",
        examples=["source:stripe state:dead since:2h"],
    ),
]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
"""Of an event, a source, a handler, a job."""
EventName = Annotated[
    str,
    msgspec.Meta(
        min_length=1,
        max_length=500,
        description="An event: its id or the first 6 digits of it or more, its key, or SOURCE/KEY.",
        examples=["stripe/evt_1A2b"],
    ),
]
Rows = Annotated[int, msgspec.Meta(ge=1, le=500, description="Rows of a page.")]
CursorText = Annotated[str, msgspec.Meta(max_length=200, description="`next` of the page before: go on from there.")]
Minutes = Annotated[int, msgspec.Meta(ge=1, le=1440, description="What the rates are of.")]
Why = Annotated[str, msgspec.Meta(max_length=2_000, description="Why, for whoever reads the operator log.")]

ROWS = 50
"""Rows of a page unless it is said: a screenful."""


class Asked(msgspec.Struct, forbid_unknown_fields=True):
    """A parameter that nobody knows is refused: a mistyped `sourc` must not look like "all of them"."""


class Answered(msgspec.Struct):
    """An answer: what JSON has, times in ISO 8601 and UTC, ids in hexadecimal digits."""


class Counted(Answered):
    """How many. Counted no further than some limit, because the exact number is worth less than what it would cost."""

    number: int
    is_more: bool = False
    """Whether there are more than that."""
