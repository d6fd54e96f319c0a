"""A circuit breaker: stops us from hammering what is broken, and lets one probe through now and then."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Breaker:
    """Closed until `trip`; then open for a growing time; then half-open: one probe decides."""

    shortest: float = 0.5
    """Seconds: a database restart is over within a few probes."""
    longest: float = 30.0
    """Seconds: whoever mended it should not have to wait for us longer than half a minute."""
    _open_until: float | None = None
    _wait: float = 0.0
    _probing: bool = False
    why: str = ""

    @property
    def is_open(self) -> bool:
        return self._open_until is not None

    @property
    def is_probing(self) -> bool:
        """Open, and somebody is trying whether it still has to be."""
        return self._probing

    @property
    def open_until(self) -> float | None:
        return self._open_until

    def allows(self, now: float) -> bool:
        """Whether work may start. While open, True once per wait: that caller is the probe, and must report back."""
        if self._open_until is None:
            return True
        if self._probing or now < self._open_until:
            return False
        self._probing = True
        return True

    def remaining(self, now: float) -> float:
        """Seconds until the next probe may start."""
        return 0.0 if self._open_until is None else max(0.0, self._open_until - now)

    def trip(self, now: float, why: str, *, at_least: float = 0.0) -> bool:
        """Open it, or open it again for longer after a failed probe; whether it was closed before. `at_least` so many
        seconds, if whatever is broken asked for that."""
        if self._open_until is not None and not self._probing and now < self._open_until:
            return False  # one outage, seen by several at once
        was_closed = self._open_until is None
        self._wait = self.shortest if was_closed else min(self.longest, self._wait * 2)
        self._open_until = now + max(self._wait, at_least)
        self._probing = False
        self.why = why
        return was_closed

    def hear(self, now: float, seconds: float, why: str) -> bool:
        """Somebody else saw it broken: open for so long at least; whether it was closed before."""
        was_closed = self._open_until is None
        self._open_until = max(self._open_until or now, now + seconds)
        self._wait = max(self._wait, seconds)
        self.why = self.why or why
        return was_closed

    def half_open(self, now: float) -> None:
        """There is reason to hope: the next caller may be the probe."""
        if self._open_until is not None:
            self._open_until = min(self._open_until, now)

    def reset(self) -> bool:
        """Close it: work succeeded; whether it was open before."""
        was_open = self.is_open
        self._open_until, self._probing, self._wait, self.why = None, False, 0.0, ""
        return was_open

    def abandon_probe(self) -> None:
        """The probe found nothing to try: let the next caller be the probe."""
        self._probing = False
