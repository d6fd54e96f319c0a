"""A hundred thousand forgeries over every provider: none may be accepted, none may raise anything else than a refusal,
none may take long.

Each case is drawn from `seed:provider:number` alone, so that one line repeats it; of the few providers with private
keys those are new in each run, and a failure prints the request itself.

    python -m tests.providers.forgeries --count 100000 --seed 1
    python -m tests.providers.forgeries --seed 1 --only stripe:17
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random

from landfast.domain.errors import UnverifiedError
from landfast.intake.verify import Examined, examine
from landfast.ports.provider import KeyNeeded
from tests.providers import tricks  # noqa: F401 - its mutations join the others
from tests.providers.mutations import MUTATIONS
from tests.providers.oracle import Sent, is_genuine
from tests.providers.victims import NAMES, Victim, victim

LONGEST = 0.050
"""Seconds of CPU for one request, however odd. The usual takes 0.00003; the worst are a body of nested brackets and an
RSA or P-521 signature."""


@dataclass
class Report:
    refused: Counter[str] = field(default_factory=Counter)
    """Forgeries that were refused, by mutation."""
    genuine: Counter[str] = field(default_factory=Counter)
    """Accepted, and rightly: the mutation changed nothing that is signed. Not counted as forgeries."""
    failures: list[str] = field(default_factory=list)
    slowest: float = 0.0

    def add(self, other: Report) -> None:
        self.refused += other.refused
        self.genuine += other.genuine
        self.failures += other.failures
        self.slowest = max(self.slowest, other.slowest)

    def __str__(self) -> str:
        lines = [f"{name:44} {self.refused[name]:>7,} {self.genuine[name]:>6,}" for name in MUTATIONS]
        total = f"{'refused, and genuine after all':44} {self.refused.total():>7,} {self.genuine.total():>6,}"
        return "\n".join([*lines, total, f"the slowest took {self.slowest * 1000:.1f} ms"])


def campaign(names: Sequence[str], *, count: int, seed: int) -> Report:
    """So many forgeries for each of these providers."""
    report = Report()
    for name in names:
        target = victim(name)
        _check_is_open(target)
        for number in _numbers(report, count):
            _attempt(report, target, seed, number)
        _check_is_open(target)
    return report


def _numbers(report: Report, count: int) -> Iterator[int]:
    """As many as it takes until so many more were refused."""
    until, number = report.refused.total() + count, 0
    while report.refused.total() < until and not report.failures:
        yield number
        number += 1


def _attempt(report: Report, target: Victim, seed: int, number: int) -> None:
    mutation, sent = drawn(target, seed, number)
    if sent is None or sent == target.genuine:
        return
    failure: str | None
    started = time.process_time()
    try:
        failure = _wrongly_accepted(target, sent, taken(target, sent))
    except (UnverifiedError, KeyNeeded):  # a key that nobody gives is none
        report.refused[mutation] += 1
        failure = None
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what we look for
        failure = f"raised {error!r}"
    else:
        report.genuine[mutation] += failure is None
    spent = time.process_time() - started
    if spent > LONGEST:
        spent = min(spent, _measured(target, sent))
        failure = failure or (f"took {spent * 1000:.0f} ms" if spent > LONGEST else None)
    report.slowest = max(report.slowest, spent)
    if failure is not None:
        report.failures.append(
            f"{target.name}: {mutation}: {failure}\n  {str(sent)[:2000]}\n"
            f"  again: python -m tests.providers.forgeries --seed {seed} --only {target.name}:{number}"
        )


def drawn(target: Victim, seed: int, number: int) -> tuple[str, Sent | None]:
    """The mutation and the request of one case."""
    names = list(MUTATIONS)
    mutation = names[number % len(names)]
    return mutation, MUTATIONS[mutation](Random(f"{seed}:{target.name}:{number}"), target)


def taken(target: Victim, sent: Sent) -> Examined:
    return examine(target.source, sent.head(), sent.body, now=datetime.fromtimestamp(sent.now, UTC))


def _wrongly_accepted(target: Victim, sent: Sent, examined: Examined) -> str | None:
    """An answer to a handshake that nobody signs proves nothing and stores nothing, so it is no acceptance."""
    if examined.secret is None and not examined.identities:
        return None
    if not is_genuine(target.profile, target.genuine, sent):
        return "was accepted"
    before, after = _keys(taken(target, target.genuine)), _keys(examined)
    return None if before == after or not _is_keyed_by_what_is_signed(target) else f"is another event: {before} {after}"


def _is_keyed_by_what_is_signed(target: Victim) -> bool:
    """Not where an event is what arrives, and where the body is not signed."""
    return target.profile.coverage != "no" and "arrival" not in target.profile.key


def _keys(examined: Examined) -> list[str]:
    return [identity.key for identity in examined.identities]


def _measured(target: Victim, sent: Sent) -> float:
    """Again, without what else the process had to do just then: the best of three."""
    gc.collect()
    spent = []
    for _ in range(3):
        started = time.process_time()
        with contextlib.suppress(Exception):  # looked at already
            taken(target, sent)
        spent.append(time.process_time() - started)
    return min(spent)


def _check_is_open(target: Victim) -> None:
    """Whoever refuses everything would pass: the genuine one must be accepted."""
    assert taken(target, target.genuine).secret is not None, f"{target.name} refuses what is genuine"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="PROVIDER, or PROVIDER:NUMBER for one case")
    options = parser.parse_args()
    report = Report()
    name, _, number = (options.only or "").partition(":")
    if number:
        print(*drawn(victim(name), options.seed, int(number)), sep="\n")
        _attempt(report, victim(name), options.seed, int(number))
    else:
        names = [name] if name else list(NAMES)
        for each in names:
            report.add(campaign([each], count=-(-options.count // len(names)), seed=options.seed))
    print(report, *report.failures, sep="\n")
    raise SystemExit(bool(report.failures))


if __name__ == "__main__":
    main()
