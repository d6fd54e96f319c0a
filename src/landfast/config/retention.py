"""How long things are kept, as it is written: `bodies = "90d"`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from landfast.config.checking import nearest
from landfast.config.setting_keys import RETENTION_KEYS
from landfast.config.settings import RetentionSettings
from landfast.domain.errors import ConfigError

UNITS = {"h": 3_600.0, "d": 86_400.0, "w": 7 * 86_400.0}
FOREVER = "forever"


def read(table: Mapping[str, Any], where: str) -> RetentionSettings:
    for key in table:
        if key not in RETENTION_KEYS:
            hint = nearest(key, RETENTION_KEYS) or f"; the keys are {', '.join(RETENTION_KEYS)}"
            raise ConfigError(f"{where}retention: there is no key {key!r}{hint}")
    return RetentionSettings(**{key: age_of(value, f"{where}retention: {key}") for key, value in table.items()})


def age_of(value: Any, name: str) -> float:
    """In seconds; `name` is what it is called, for the sentence about what is wrong with it."""
    if value == FOREVER:
        return math.inf
    written = re.fullmatch(r"\s*(\d{1,5})\s*([hdw])\s*", value) if isinstance(value, str) else None
    if written is None or not int(written[1]):
        raise ConfigError(f'{name} must be a number of hours, days or weeks, such as "90d", or "forever"')
    return int(written[1]) * UNITS[written[2]]
