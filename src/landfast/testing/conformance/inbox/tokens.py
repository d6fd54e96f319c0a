"""Tokens of the admin API, and how far a listing goes."""

from __future__ import annotations

from landfast.domain.access import Role
from landfast.domain.summary import Cursor
from landfast.testing.conformance.inbox.bench import Bench
from landfast.testing.factory import deliveries

ONE, OTHER = bytes(32), bytes([1]) * 32


class TokenConformance:
    async def test_a_token_is_kept_as_its_digest_with_who_made_it(self, bench: Bench) -> None:
        assert await bench.inbox.add_token("ci", Role.OPERATOR, ONE, who="ada", lasting=None)
        other = await bench.another()
        (kept,) = await other.tokens()
        assert (kept.name, kept.role, kept.digest, kept.created_by) == ("ci", Role.OPERATOR, ONE, "ada")
        assert (kept.expires_at, kept.revoked_at) == (None, None)

    async def test_of_one_name_and_of_one_digest_there_is_one(self, bench: Bench) -> None:
        inbox = bench.inbox
        assert await inbox.add_token("ci", Role.VIEWER, ONE, who="ada", lasting=None)
        assert not await inbox.add_token("ci", Role.ADMIN, OTHER, who="ada", lasting=None)
        assert not await inbox.add_token("other", Role.ADMIN, ONE, who="ada", lasting=None)
        assert [token.role for token in await inbox.tokens()] == [Role.VIEWER]

    async def test_a_revoked_token_stays_known_and_its_name_is_free(self, bench: Bench) -> None:
        inbox = bench.inbox
        await inbox.add_token("ci", Role.VIEWER, ONE, who="ada", lasting=None)
        assert await inbox.revoke_token("ci")
        assert not await inbox.revoke_token("ci")
        assert await inbox.add_token("ci", Role.ADMIN, OTHER, who="bob", lasting=60.0)
        valid, revoked = await inbox.tokens()
        assert (valid.digest, revoked.digest, revoked.revoked_at is None) == (OTHER, ONE, False)
        assert valid.expires_at is not None
        assert (valid.expires_at - valid.created_at).total_seconds() == 60.0

    async def test_the_horizon_is_so_many_places_behind_the_cursor(self, bench: Bench) -> None:
        batch = deliveries(10)
        await bench.inbox.record(batch)
        assert await bench.inbox.horizon(after=None, events=3) == batch[6].received_at
        after = Cursor(batch[6].received_at, batch[6].event_id)
        assert await bench.inbox.horizon(after=after, events=3) == batch[2].received_at
        assert await bench.inbox.horizon(after=after, events=6) is None
