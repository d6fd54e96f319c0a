"""Addresses of pages: the state of a page is its address."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from landfast.domain.filter import Filter, text_of


def link(path: str, **query: Any) -> str:
    """What is None or empty is left out, so that the same state has one address."""
    given = {name: value for name, value in query.items() if value not in {None, ""}}
    return f"{path}?{urlencode(given)}" if given else path


def filter_of(**wanted: str) -> str:
    """A filter of these fields, whatever a sender wrote into them: a blank ends no term, and begins no other. A double
    quote cannot be said in a filter."""
    given: dict[str, Any] = {name: value.replace('"', "") for name, value in wanted.items()}
    return text_of(Filter(**given))
