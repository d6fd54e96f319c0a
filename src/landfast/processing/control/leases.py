"""Which leases this worker knows that it holds: those, and no others, are renewed.

A claim that was committed and whose answer got lost, or a settlement that never arrived, must run out: somebody else,
or we ourselves, will claim it again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from landfast import telemetry
from landfast.domain.errors import StoreError
from landfast.domain.ids import Token
from landfast.domain.outcome import Claim
from landfast.ports.clock import Clock
from landfast.ports.inbox import Workbench
from landfast.ports.ledger import EffectStore
from landfast.processing.fairness.shares import Hold


class Leases:
    def __init__(self) -> None:
        self._held: Counter[Token] = Counter()

    def took(self, token: Token, count: int) -> None:
        self._held[token] += count

    def gave_back(self, token: Token, count: int = 1) -> None:
        self._held[token] -= count
        if self._held[token] <= 0:
            del self._held[token]

    @contextmanager
    def taken(self, claims: Sequence[Claim], hold: Hold) -> Iterator[None]:
        """These are held from now on. The settler gives them back; where there is nothing to settle after all, they
        are given back at once, except those that were let go of and are being settled."""
        self.took(claims[0].token, len(claims))
        try:
            yield
        except BaseException:
            self.gave_back(claims[0].token, len(claims) - hold.let_go)
            raise

    def tokens(self) -> Sequence[Token]:
        return list(self._held)

    async def renew_for_ever(self, store: Workbench | EffectStore, clock: Clock, lease: float) -> None:
        while True:
            await clock.sleep(lease / 3)  # so that two of them may fail
            if tokens := self.tokens():
                try:
                    await store.renew(tokens=tokens, lease=lease)
                except StoreError as error:
                    telemetry.warn("leases_not_renewed", error=error)
