"""Type patterns: `payment_intent.*` matches any type that starts so; `*` stands for any run of characters."""

from __future__ import annotations

import re
from functools import lru_cache


def matches(pattern: str, type_: str) -> bool:
    return pattern == type_ or ("*" in pattern and _compiled(pattern).fullmatch(type_) is not None)


@lru_cache(maxsize=1024)  # patterns come from code and config, a handful each
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(part) for part in pattern.split("*")), re.DOTALL)
