"""A damaged segment: what is whole in it is found, and nothing else is believed."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from landfast.journals.records import MAGIC, MARK_BYTES, encode
from landfast.journals.segments import seed_of
from landfast.testing.factory import deliveries, delivery
from tests.journals.backlog import ids
from tests.journals.spools import (
    aside,
    everything,
    opened,
    segments,
)

pytestmark = [pytest.mark.req("R9")]


async def test_a_torn_tail_of_any_length_costs_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    acknowledged = deliveries(3)
    origin = tmp_path / "origin"
    async with opened(origin) as spool:
        await spool.record(acknowledged)
        whole = segments(origin)[0].stat().st_size
        await spool.record(deliveries(1, prefix="torn"))
    name, content = segments(origin)[0].name, segments(origin)[0].read_bytes()
    for length in range(whole, len(content)):
        folder = tmp_path / "torn"
        folder.mkdir()
        (folder / name).write_bytes(content[:length])
        assert await everything(folder) == ids(acknowledged), length
        # What is left of it is kept for whoever wants to look.
        kept = [path.read_bytes()[MARK_BYTES:] for path in aside(folder)]
        assert kept == ([content[whole:length]] if length > whole else []), length
        assert segments(folder) == []
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()


async def test_one_flipped_bit_anywhere_costs_its_own_record_at_most(tmp_path: Path) -> None:
    wanted = deliveries(4)
    origin = tmp_path / "origin"
    async with opened(origin) as spool:
        await spool.record(wanted)
    name, content = segments(origin)[0].name, segments(origin)[0].read_bytes()
    size = len(encode([wanted[0]], seed=0))
    assert len(content) == MARK_BYTES + 4 * size
    for place in range(len(content)):
        folder = tmp_path / "flipped"
        folder.mkdir()
        flipped = content[place] ^ (1 << (place % 8))
        (folder / name).write_bytes(content[:place] + bytes([flipped]) + content[place + 1 :])
        hit = None if place < MARK_BYTES else (place - MARK_BYTES) // size
        survivors = [each for number, each in enumerate(wanted) if number != hit]
        assert await everything(folder) == ids(survivors), place
        assert len(aside(folder)) == (hit is not None), place
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()


async def test_random_damage_of_any_kind_yields_only_what_was_written(tmp_path: Path) -> None:
    seed = int(os.environ.get("SPOOL_SEED", random.randrange(2**32)))
    print(f"to see it again: SPOOL_SEED={seed} make test TESTS=tests/journals/test_spool_damage.py")
    chance = random.Random(seed)
    wanted = deliveries(30)
    async with opened(tmp_path / "origin") as spool:
        await spool.record(wanted)
    name, content = segments(tmp_path / "origin")[0].name, segments(tmp_path / "origin")[0].read_bytes()
    for attempt in range(60):
        damaged = bytearray(content)
        for _ in range(chance.randint(1, 4)):
            start = chance.randrange(len(damaged))
            size = chance.randint(1, 400)
            match chance.randrange(3):
                case 0:
                    damaged[start : start + size] = chance.randbytes(size)
                case 1:
                    damaged[start : start + size] = bytes(min(size, len(damaged) - start))
                case _:
                    del damaged[start : start + size]
        folder = tmp_path / f"damaged-{attempt}"
        folder.mkdir()
        (folder / name).write_bytes(bytes(damaged))
        found = await everything(folder)
        assert set(found) <= {each.event_id for each in wanted} and len(found) == len(set(found))
        assert len(found) >= 30 - 4 * (400 // 200 + 2), "more was given up than was damaged"
        assert segments(folder) == []


async def test_a_body_that_looks_like_a_record_is_not_taken_for_one(tmp_path: Path) -> None:
    """Where a header is damaged, the next is searched for in what follows; a sender may have written that."""
    forged = encode([delivery("evt_forged", source="bank")], seed=0) + encode([delivery("evt_guess")], seed=1)
    async with opened(tmp_path) as spool:
        await spool.record([delivery("evt_trojan", body=MAGIC * 3 + forged)])
        await spool.record([delivery("evt_behind", headers=b"[]")])
    (path,) = segments(tmp_path)
    content = bytearray(path.read_bytes())
    content[MARK_BYTES] ^= 1
    path.write_bytes(content)
    assert await everything(tmp_path) == [delivery("evt_behind").event_id]
    # With the seed of the segment it would have been believed: the search does look there.
    inside = encode([delivery("evt_inside")], seed=seed_of(path))
    async with opened(tmp_path) as spool:
        await spool.record([delivery("evt_trojan", body=inside)])
    (path,) = segments(tmp_path)
    content = bytearray(path.read_bytes())
    content[MARK_BYTES] ^= 1
    path.write_bytes(content)
    assert await everything(tmp_path) == [delivery("evt_inside").event_id]
