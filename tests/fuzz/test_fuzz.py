"""A slice of the fuzzer for every test run; `make fuzz` goes on for longer and from a seed of its own."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator

import pytest

from landfast.domain.errors import MalformedBodyError
from landfast.web.http.bodies import SizedBody
from tests.fuzz.__main__ import TARGETS, case, fuzz, main
from tests.fuzz.parsers import Bodies
from tests.fuzz.protocol import Protocol

SECONDS = 5.0
"""For all targets together."""

SEED = 2026


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Thousands of refusals are what it is about; nobody reads them."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(before)


@pytest.mark.req("R1")
@pytest.mark.parametrize("name", TARGETS)
async def test_nothing_random_gets_past(name: str) -> None:
    count, _ = await fuzz(name, SEED, seconds=SECONDS * TARGETS[name][1])
    assert count > 0
    print(f"{name}: {count} executions from seed {SEED}")


@pytest.mark.req("R1")
async def test_a_number_of_hostile_streams_can_be_asked_for() -> None:
    """`FUZZ_STREAMS=100000 make fuzz` is the long run of this one."""
    count, target = await fuzz("protocol", SEED + 1, cases=500)
    assert count == 500 and sum(target.statuses.values()) > 0


async def test_the_same_seed_draws_the_same_cases() -> None:
    first, second = Protocol(), Protocol()
    for target in (first, second):
        for number in range(50):
            await case(target, "protocol", 7, number)
    assert first.statuses == second.statuses
    assert {200, 400, 401} <= set(first.statuses), "the cases reach what they are for"


async def test_a_finding_tells_how_to_repeat_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def loose(body: bytes, content_type: str | None) -> object:
        raise MalformedBodyError("whatever it is")

    monkeypatch.setattr("landfast.domain.body.decode", loose)
    with pytest.raises(AssertionError, match="refused for no reason") as found:
        await fuzz("bodies", 1, seconds=5)
    (note,) = found.value.__notes__
    assert note.startswith("repeat it: python -m tests.fuzz bodies 1 ")
    with pytest.raises(AssertionError, match="refused for no reason"):
        await case(Bodies(), "bodies", 1, int(note.split()[-1]))


async def test_the_oracle_notices_a_body_that_is_taken_before_it_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    def greedy(self: SizedBody, data: bytes) -> bytes | None:
        self._bytes.add(data)
        self.size += len(data)
        return b""

    monkeypatch.setattr(SizedBody, "feed", greedy)
    with pytest.raises(AssertionError):
        await fuzz("protocol", 1, seconds=30)


def test_the_command_prints_its_seed_and_its_rate(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FUZZ_SECONDS", "0.2")
    monkeypatch.setenv("FUZZ_SEED", str(random.Random(SEED).randrange(1000)))
    assert main([]) == 0
    out = capsys.readouterr().out
    assert "FUZZ_SEED=" in out and out.count("executions, ") == 3
    assert main(["bodies", "1", "1"]) == 0
