"""From $1, $2 to %(p1)s, %(p2)s in what a handler gives to `tx`, for psycopg and psycopg2."""

from __future__ import annotations

import re
from functools import lru_cache

from landfast.ledgers.control import QUERIES

_PARTS = re.compile(
    r"""
      '(?:[^']|'')*'                      # a string
    | "(?:[^"]|"")*"                      # a name
    | --[^\n]*                            # a comment
    | /\*.*?\*/
    | (?P<tag>\$[A-Za-z_]*\$).*?(?P=tag)  # a string between dollars
    | \$(?P<number>\d+)
    | %
    """,
    re.VERBOSE | re.DOTALL,
)


@lru_cache(QUERIES)
def with_names(query: str) -> str:
    """What stands in strings, names and comments stays as it is."""

    def written(part: re.Match[str]) -> str:
        return f"%(p{part['number']})s" if part["number"] else part[0].replace("%", "%%")

    return _PARTS.sub(written, query)
