"""One filter language for the CLI, the API and the dashboard.

    source:stripe type:invoice.* state:dead error:IntegrityError entity:cus_9 key:evt_1 since:2h
    handler:create_order line:shop.py:14 reason:crash_loop message:"no such customer"

All terms must hold. `type`, `error`, `handler`, `line` and `reason` take `*`; `since` and `before` take an age (90s,
15m, 2h, 7d) or an ISO time. `message` is a part of the error's message, in which `*` is any run of characters. A value
with blanks stands in double quotes. `error`, `handler`, `line` and `message` are known of what failed: of what waits or
is dead.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta

from landfast.domain.errors import FilterError, UserError
from landfast.domain.lifecycle import State
from landfast.domain.patterns import matches

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
    handler: str | None = None
    """That failed."""
    line: str | None = None
    """Of the user's code in which it failed: `shop.py:14`."""
    reason: str | None = None
    message: str | None = None

    @property
    def has_failed(self) -> bool:
        """Whether only what failed can match: what waits, or is dead."""
        return not (self.error is self.handler is self.line is self.message is None)

    def says(self, message: str) -> bool:
        """Whether such a message is wanted. Apart from the other terms, because it may have to be unsealed first."""
        return self.message is None or (bool(message) and matches(f"*{self.message}*", message))


FIELDS = tuple(field.name for field in fields(Filter))

_TERM = re.compile(r'(?:"[^"]*"|\S)+')
"""Up to a blank that is not in quotes."""


def joined(terms: Sequence[str]) -> str:
    """The text of terms as a shell hands them over, which has taken the quotes away."""
    return " ".join(_quoted(term) for term in terms)


def _quoted(term: str) -> str:
    name, colon, value = term.partition(":")
    is_one = not any(word.partition(":")[0] in FIELDS for word in value.split() if ":" in word)
    return _term(name, value) if colon and name in FIELDS and '"' not in term and is_one else term


def text_of(wanted: Filter) -> str:
    """What `parse` makes this filter of, at any time."""
    return " ".join(terms_of(wanted))


def terms_of(wanted: Filter) -> list[str]:
    return [_term(name, value) for name in FIELDS if (value := getattr(wanted, name)) is not None]


def _term(name: str, value: str | State | datetime) -> str:
    text = value.isoformat() if isinstance(value, datetime) else str(value)
    return f'{name}:"{text}"' if re.search(r"\s", text) else f"{name}:{text}"


def parse(text: str, *, now: datetime) -> Filter:
    """FilterError, which says where, for what is no filter."""
    found = Filter()
    if text.count('"') % 2:
        sentence = 'filter: a double quote is not closed; write message:"no such customer"'
        raise FilterError(sentence, position=text.rindex('"'), length=len(text) - text.rindex('"'))
    for match in _TERM.finditer(text):
        try:
            found = _with_term(found, match[0], now)
        except UserError as error:
            # Of a term whose field is known, its value is what cannot be read.
            name, colon, value = match[0].partition(":")
            begin = len(name) + 1 if colon and name in FIELDS and value else 0
            raise FilterError(str(error), position=match.start() + begin, length=len(match[0]) - begin) from None
    return found


def _with_term(found: Filter, term: str, now: datetime) -> Filter:
    name, colon, value = term.partition(":")
    if colon and name not in FIELDS and (near := difflib.get_close_matches(name, FIELDS, n=1)):
        raise UserError(f"filter: there is no field {name!r}; did you mean {near[0]!r}?")
    if not colon or not value.strip('"') or name not in FIELDS:
        raise UserError(f"filter: cannot read {term!r}; write terms such as source:stripe, one of {', '.join(FIELDS)}")
    if getattr(found, name) is not None:
        raise UserError(f"filter: {name} is given twice; give it once")
    return replace(found, **{name: _value(name, value.replace('"', ""), now)})  # type: ignore[arg-type]


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
    return in_utc(moment, f"filter: {name}:{value}")


def in_utc(moment: datetime, what: str) -> datetime:
    """A time without a zone is meant so. UserError, about `what`, for one that no database can hold."""
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError:
        raise UserError(f"{what} is no time of our calendar in UTC; give another one") from None
