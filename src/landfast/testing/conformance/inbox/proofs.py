"""Proofs that do not bind the body: each counts for the first body that it comes with."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import msgspec

from landfast.domain.delivery import Delivery
from landfast.domain.ids import Proof
from landfast.testing.conformance.inbox.bench import Bench, look
from landfast.testing.factory import DAWN, delivery

PROOF, OTHER_PROOF = Proof(b"transmission-001"), Proof(b"transmission-002")


def proven(key: str, *, proof: Proof = PROOF, body: bytes | None = None, after: float = 0) -> Delivery:
    made = delivery(key, body=body, received_at=DAWN + timedelta(seconds=after))
    return msgspec.structs.replace(made, proof=proof)


class ProofConformance:
    async def test_another_body_under_a_known_proof_is_not_stored(self, bench: Bench) -> None:
        (first,) = await bench.inbox.record([proven("paid")])
        (other,) = await (await bench.another()).record([proven("forged")])
        assert (first.is_new, first.is_disproven) == (True, False)
        assert (other.is_new, other.is_disproven) == (False, True)
        assert (await bench.inbox.census()).events == 1

    async def test_the_same_body_under_its_proof_is_a_duplicate(self, bench: Bench) -> None:
        await bench.inbox.record([proven("paid")])
        (again,) = await bench.inbox.record([proven("paid")])
        assert (again.is_new, again.is_disproven) == (False, False)

    async def test_a_duplicate_brings_a_proof_that_counts_for_no_other_body(self, bench: Bench) -> None:
        await bench.inbox.record([proven("paid")])
        (again,) = await bench.inbox.record([proven("paid", proof=OTHER_PROOF)])
        (forged,) = await bench.inbox.record([proven("forged", proof=OTHER_PROOF)])
        assert (again.is_new, again.is_disproven, forged.is_disproven) == (False, False, True)

    async def test_a_known_event_is_a_duplicate_whatever_its_body(self, bench: Bench) -> None:
        await bench.inbox.record([proven("paid")])
        (again,) = await bench.inbox.record([proven("paid", body=b"spelt otherwise")])
        assert (again.is_new, again.is_disproven) == (False, False)

    async def test_in_one_batch_the_body_that_came_first_has_the_proof(self, bench: Bench) -> None:
        batch = [proven("forged", after=2), delivery("free"), proven("paid", after=1)]
        recorded = await bench.inbox.record(batch)
        assert [(one.is_new, one.is_disproven) for one in recorded] == [(False, True), (True, False), (True, False)]
        assert [one.event_id for one in recorded] == [one.event_id for one in batch]
        assert (await look(bench.inbox, batch[2].event_id)).body == batch[2].body

    async def test_what_is_drained_is_held_to_its_proof_as_well(self, bench: Bench) -> None:
        await bench.inbox.record_drained([proven("paid")])
        (again, other) = await bench.inbox.record_drained([proven("paid"), proven("forged")])
        assert (again.is_disproven, other.is_disproven) == (False, True)

    async def test_of_concurrent_bodies_exactly_one_has_the_proof(self, bench: Bench) -> None:
        inboxes = [bench.inbox, await bench.another()]
        answers = await asyncio.gather(*(inboxes[turn % 2].record([proven(f"body {turn}")]) for turn in range(10)))
        assert sum(one.is_new for answer in answers for one in answer) == 1
        assert sum(one.is_disproven for answer in answers for one in answer) == 9
        assert (await bench.inbox.census()).events == 1
