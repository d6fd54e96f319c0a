"""Turnstiles: at which rate all workers together call a dependency."""

from __future__ import annotations

from landfast.domain.turnstile import Turnstile, let_through
from landfast.testing.conformance.inbox.bench import Bench

RATE = 0.0005
"""One call in 2,000 seconds: a test that takes long is not let through for it."""


class TurnstileConformance:
    async def test_all_workers_go_through_one_turnstile(self, bench: Bench) -> None:
        other = await bench.another()
        first = await bench.inbox.let_through("mailer", wanted=2, behind=0, rate=RATE, spacing=1.0)
        second = await other.let_through("mailer", wanted=2, behind=1, rate=RATE, spacing=1.0)
        assert (first.granted, second.granted) == (1, 0)
        assert (len(first.waits), len(second.waits)) == (1, 3)
        assert list(second.waits) == sorted(second.waits)

    async def test_time_lets_more_through(self, bench: Bench) -> None:
        for granted, seconds in ((1, 0), (0, 0), (1, 2_500)):
            await bench.advance(seconds)
            assert (
                await bench.inbox.let_through("mailer", wanted=1, behind=0, rate=RATE, spacing=1.0)
            ).granted == granted

    async def test_it_counts_as_the_rule_does(self, bench: Bench) -> None:
        """With time that passes only where it is moved, but for the moments that the test itself takes."""
        stile, now = Turnstile(), 1_800_000_000.0
        for seconds, wanted, behind in ((0, 3, 9), (2_500, 0, 4), (0, 1, 0), (2_500, 2, 30), (5, 40, 0)):
            now += seconds
            await bench.advance(seconds)
            asked = {"wanted": wanted, "behind": behind, "rate": RATE, "spacing": 0.05}
            stile, rule = let_through(stile, now=now, **asked)  # type: ignore[arg-type]
            found = await bench.inbox.let_through("mailer", **asked)  # type: ignore[arg-type]
            assert (found.granted, len(found.waits)) == (rule.granted, len(rule.waits))
            assert all(abs(one - other) < 90 for one, other in zip(found.waits, rule.waits, strict=True))

    async def test_whoever_only_takes_a_place_lets_nobody_through_sooner(self, bench: Bench) -> None:
        for granted, seconds in ((1, 0), (0, 500), (0, 500), (1, 1_500)):
            await bench.advance(seconds)
            passage = await bench.inbox.let_through("mailer", wanted=1, behind=0, rate=RATE, spacing=1.0)
            assert passage.granted == granted
            (place,) = (await bench.inbox.let_through("mailer", wanted=0, behind=1, rate=1_000.0, spacing=1.0)).waits
            assert place > 0

    async def test_dependencies_have_nothing_to_do_with_one_another(self, bench: Bench) -> None:
        for name in ("mailer", "crm"):
            passage = await bench.inbox.let_through(name, wanted=1, behind=0, rate=RATE, spacing=1.0)
            assert passage.granted == 1
