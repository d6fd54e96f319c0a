"""One filter language for the CLI, the API and the dashboard.

    source:stripe type:invoice.* state:dead error:IntegrityError entity:cus_9 key:evt_1 since:2h

All terms must hold. `type` and `error` take `*`; `since` and `before` take an age (90s, 15m, 2h, 7d) or an ISO time.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from landfast.domain.errors import UserError
from landfast.domain.lifecycle import State

_AGE = re.compile(r"(\d{1,6})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


@dataclass(frozen=True, slots=True)
class Filter:
    source: str | None = None
    type: str | None = None
    state: State | None = None
    error: str | None = None
    entity: str | None = None
    key: str | None = None
    since: datetime | None = None
    before: datetime | None = None


FIELDS = ("source", "type", "state", "error", "entity", "key", "since", "before")


def parse(text: str, *, now: datetime) -> Filter:
    found = Filter()
    for term in text.split():
        name, colon, value = term.partition(":")
        if colon and name not in FIELDS and (near := difflib.get_close_matches(name, FIELDS, n=1)):
            raise UserError(f"filter: there is no field {name!r}; did you mean {near[0]!r}?")
        if not colon or not value or name not in FIELDS:
            raise UserError(
                f"filter: cannot read {term!r}; write terms such as source:stripe, one of {', '.join(FIELDS)}"
            )
        if getattr(found, name) is not None:
            raise UserError(f"filter: {name} is given twice; give it once")
        found = replace(found, **{name: _value(name, value, now)})  # type: ignore[arg-type]
    return found


def _value(name: str, value: str, now: datetime) -> str | State | datetime:
    if name == "state":
        try:
            return State(value)
        except ValueError:
            raise UserError(f"filter: no state {value!r}; it is one of {', '.join(State)}") from None
    if name in ("since", "before"):
        return _moment(name, value, now)
    return value


def _moment(name: str, value: str, now: datetime) -> datetime:
    if age := _AGE.fullmatch(value):
        try:
            return now - timedelta(**{_UNITS[age[2]]: int(age[1])})
        except OverflowError:
            raise UserError(f"filter: {name}:{value} is before the calendar begins; give a shorter age") from None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise UserError(f"filter: {name} takes an age such as 2h or an ISO time, not {value!r}") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
