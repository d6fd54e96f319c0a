"""Staging: the effects of one event, which waits for which, and when each may begin.

One can be staged only after those that are staged already, so no cycle can be written.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from difflib import get_close_matches
from typing import Any

import msgspec

from landfast.domain.arrival import Awaited, Awaits, arrival_key
from landfast.domain.effect import StagedEffect, Step
from landfast.domain.errors import StagingError
from landfast.domain.ids import NO_INBOX, EffectKey, InboxId, effect_key
from landfast.domain.json_limits import excess
from landfast.domain.outcome import ReceiptKey
from landfast.domain.text import storable
from landfast.processing.handlers.error_text import text_of
from landfast.processing.handlers.registry import EffectHandler, Registry
from landfast.processing.handlers.results import as_text

STAGED_EFFECTS_AT_MOST = 10_000
"""Effects of one event. More is a loop that went wrong, and would hold the ledger's transaction for seconds."""

AHEAD_AT_MOST = timedelta(days=3660)
"""Ten years: a later time is a typing mistake, and some are more than a database can hold."""

At = datetime | timedelta | None

After = Sequence[str | Awaited | Callable[..., Any]]
"""What a step waits for: others of its event, by their names or by what staging them returned, and arrivals."""

OPTIONS = ("named", "after", "at")
"""What `stage` takes besides the arguments of the effect."""


class Staged(str):
    """The idempotency key of an effect that was staged; and a name for it, to stage others after it."""

    __slots__ = ()

    @property
    def result(self) -> StagedResult:
        """In the arguments of another one: what this one will have returned."""
        return StagedResult(str(self))


class StagedResult:
    """Stands for what a step will have returned. No dataclass, which the JSON encoder would write out: in a text, or
    deep in an argument, nobody would put the result in its place."""

    __slots__ = ("key",)

    def __init__(self, key: str) -> None:
        self.key = key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StagedResult) and other.key == self.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"StagedResult({self.key!r})"

    def __str__(self) -> str:
        raise StagingError("a result is not known yet: pass it as an argument of its own, or in a list of results")


class Stage:
    """Effects that one handler, or one step, stages for one event: rows in its transaction, if and when it commits."""

    def __init__(
        self,
        registry: Registry,
        receipt: ReceiptKey,
        event: Mapping[str, Any],
        now: Callable[[], datetime],
        inbox: InboxId = NO_INBOX,
    ) -> None:
        """`event` are the id, source, key and type of the event."""
        self._registry = registry
        self._receipt = receipt
        self._event = event
        self._now = now
        self._inbox = inbox
        self.staged: dict[str, StagedEffect] = {}
        self._keys: dict[str, str] = {}
        """By what a user may call them."""

    def add(
        self,
        effect: str | Callable[..., Any],
        named: str | None,
        arguments: Mapping[str, Any],
        after: After = (),
        at: At = None,
    ) -> Staged:
        """StagingError, in one sentence, for what cannot be performed as it is asked for."""
        known = self._find(effect)
        label = f"{known.name}:{named}" if named else known.name
        key = self._new_key(known, named, label)
        plain, inputs = _split(known, arguments)
        due_in, encoded = self._due_in(known, at), _encoded(known, plain)
        earlier = self._earlier(known, after, inputs)
        waited = tuple(each for each in earlier if self.staged[each].step.arrival is not None)
        step = Step(named or "", earlier, inputs, waited=waited)
        self._lead(step)
        self.staged[key] = self._effect(key, known.name, encoded, step, due_in)
        self._keys |= {label: key, named or known.name: key}
        return Staged(key)

    def _effect(self, key: str, name: str, arguments: bytes, step: Step, due_in: float | None) -> StagedEffect:
        return StagedEffect(
            key=key,
            run=self._receipt.run,
            digest=self._receipt.digest,
            handler=self._receipt.handler,
            name=name,
            arguments=arguments,
            context=msgspec.json.encode(self._event),
            step=step,
            due_in=due_in,
        )

    def _find(self, effect: str | Callable[..., Any]) -> EffectHandler:
        name = effect if isinstance(effect, str) else getattr(effect, "__landfast_effect__", None)
        known = self._registry.effects.get(name) if isinstance(name, str) else None
        if known is None:
            shown = effect if isinstance(effect, str) else getattr(effect, "__name__", repr(effect))
            raise StagingError(f"stage({shown}): no such effect; register it with @inbox.effect")
        return known

    def _new_key(self, known: EffectHandler, named: str | None, label: str) -> EffectKey:
        if storable(label) != label:
            raise StagingError(f"stage({known.name}): named {named!r} has a character that no database takes")
        key = effect_key(self._receipt.digest, self._receipt.handler, label)
        if key in self.staged:
            again = f"named {named!r} " if named else ""
            raise StagingError(f"stage({known.name}): {again}is staged twice for this event; give each its own named=")
        if (short := named or known.name) in self._keys:
            raise StagingError(f"stage({known.name}): {short} names another step of this event; give it another named=")
        if len(self.staged) >= STAGED_EFFECTS_AT_MOST:
            raise StagingError(f"stage({known.name}): an event may stage at most {STAGED_EFFECTS_AT_MOST} effects")
        return key

    def _earlier(
        self, known: EffectHandler, after: After, inputs: Mapping[str, str | tuple[str, ...]]
    ) -> tuple[str, ...]:
        """Keys of those that it waits for, each once, in the order in which they were named."""
        if isinstance(after, str | Awaited):
            raise StagingError(f"stage({known.name}): after is a list, such as after=[{str(after)!r}]")
        found = [self._named(known, each) for each in after]
        for taken in _keys(inputs):
            if taken not in self.staged:
                raise StagingError(f"stage({known.name}): it takes a result of something that this event did not stage")
            found.append(taken)
        return tuple(dict.fromkeys(found))

    def _arrival(self, awaited: Awaited) -> str:
        """What stands for it among the effects of this event: one, however many wait for it alike."""
        wait = Awaits(arrival_key(self._inbox, awaited.arrival, awaited.entity), *awaited[2:])
        told = f"{wait.key}:{wait.deadline}:{wait.back}:{wait.runs}"
        key = effect_key(self._receipt.digest, self._receipt.handler, told)
        if key not in self.staged:
            step = Step(arrival=wait, gives=True)
            self.staged[key] = self._effect(key, awaited.arrival.label, b"{}", step, wait.deadline)
        return key

    def _named(self, known: EffectHandler, each: object) -> str:
        if isinstance(each, Awaited):
            return self._arrival(each)
        name = each if isinstance(each, str) else getattr(each, "__landfast_effect__", None)
        if isinstance(name, str) and name in self.staged:
            return str(name)
        if isinstance(name, str) and name in self._keys:
            return self._keys[name]
        shown = name if isinstance(name, str) else repr(each)
        staged = ", ".join(sorted(self._keys)) or "nothing yet"
        raise StagingError(
            f"stage({known.name}): after names {shown}, which is not staged for this event before it"
            f" (staged is: {staged}); stage that one first"
        )

    def _lead(self, step: Step) -> None:
        gives = set(_keys(step.inputs))
        for key in step.after:
            before = self.staged[key]
            self.staged[key] = replace(
                before, step=replace(before.step, leads=True, gives=before.step.gives or key in gives)
            )

    def _due_in(self, known: EffectHandler, at: At) -> float | None:
        if at is None:
            return None
        if isinstance(at, datetime) and at.tzinfo is None:
            raise StagingError(
                f"stage({known.name}): at is {at}, without a time zone; write datetime(..., tzinfo=UTC), or a timedelta"
            )
        wait = at - self._now() if isinstance(at, datetime) else at
        if not isinstance(wait, timedelta):
            raise StagingError(
                f"stage({known.name}): at is {at!r}; it is a datetime with its time zone, or a timedelta"
            )
        if wait > AHEAD_AT_MOST:
            raise StagingError(f"stage({known.name}): at is {at}, which is more than ten years ahead")
        return max(0.0, wait.total_seconds())


def _split(
    known: EffectHandler, arguments: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str | tuple[str, ...]]]:
    """What is known now, and what others will return."""
    given = dict.fromkeys(known.asked.by_name or ()) if known.asked else {}
    if taken := sorted(given.keys() & arguments.keys()):
        raise StagingError(f"stage({known.name}): {taken[0]} is given by Landfast; leave it out")
    try:
        inspect.signature(known.function).bind(None, **arguments, **given)
    except TypeError as error:
        raise StagingError(
            f"stage({known.name}): the arguments do not fit the effect: {error}{_meant(known, arguments)}"
        ) from None
    inputs: dict[str, str | tuple[str, ...]] = {}
    for name, value in arguments.items():
        if isinstance(value, StagedResult):
            inputs[name] = value.key
        elif isinstance(value, list | tuple) and any(isinstance(each, StagedResult) for each in value):
            if not all(isinstance(each, StagedResult) for each in value):
                raise StagingError(
                    f"stage({known.name}): the list {name} has results in it and something else; use two"
                )
            inputs[name] = tuple(each.key for each in value)
    return {name: value for name, value in arguments.items() if name not in inputs}, inputs


def _meant(known: EffectHandler, arguments: Mapping[str, Any]) -> str:
    """A word for the first argument that the effect does not have, if it looks like one that there is."""
    takes = [*inspect.signature(known.function).parameters][1:]
    for name in arguments:
        if name not in takes and (near := get_close_matches(name, [*takes, *OPTIONS], n=1)):
            return f"; did you mean {near[0]!r}?"
    return ""


def _encoded(known: EffectHandler, arguments: Mapping[str, Any]) -> bytes:
    try:
        encoded = msgspec.json.encode(arguments, enc_hook=as_text)
    except Exception as error:  # noqa: BLE001 - RecursionError, or whatever a value's own class raises
        raise StagingError(f"stage({known.name}): the arguments must be JSON: {text_of(error)}") from None
    if what := excess(encoded):
        raise StagingError(f"stage({known.name}): the argument {what}; pass ids")
    return encoded


def _keys(inputs: Mapping[str, str | tuple[str, ...]]) -> Iterator[str]:
    for given in inputs.values():
        yield from (given,) if isinstance(given, str) else given
