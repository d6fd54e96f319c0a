"""`landfast.sql` on the handle that a handler is given: the same outcomes on every ledger."""

from __future__ import annotations

from typing import Any

import pytest

from landfast import sql
from landfast.domain.errors import UserError
from landfast.testing.conformance.ledger.desk import Desk, key, transaction

_COLUMNS = "sku VARCHAR(50) PRIMARY KEY, ean VARCHAR(50) UNIQUE, state VARCHAR(20), amount INTEGER"
STOCK = f"CREATE TABLE shop_stock ({_COLUMNS})"


class SqlConformance:
    async def test_a_row_is_inserted_once_and_stays_as_it_is(self, desk: Desk) -> None:
        await desk.change(STOCK)
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key()])
            rows = [{"sku": "a", "amount": amount} for amount in (1, 2)]
            outcomes = [await sql.insert_once(tx.handle, "shop_stock", row, key="sku") for row in rows]
            assert [(str(one), bool(one)) for one in outcomes] == [("inserted", True), ("was there", False)]
            await tx.commit(results=(), effects=())
        assert await desk.look("SELECT sku, amount FROM shop_stock") == [("a", 1)]

    async def test_another_unique_column_is_no_key(self, desk: Desk) -> None:
        await desk.change(STOCK)
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key()])
            await sql.insert_once(tx.handle, "shop_stock", {"sku": "a", "ean": "1"}, key="sku")
            with pytest.raises(Exception):  # noqa: B017, PT011 - the driver's own, or ours where the server says nothing
                await sql.insert_once(tx.handle, "shop_stock", {"sku": "b", "ean": "1"}, key="sku")

    async def test_what_is_the_same_is_not_written(self, desk: Desk) -> None:
        await desk.change(STOCK)
        await desk.change("INSERT INTO shop_stock (sku, amount) VALUES ('a', 1)")
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key()])
            two = {"amount": 2}
            asked: list[tuple[dict[str, Any], str]] = [
                ({"amount": 1}, "a"),
                (two, "a"),
                ({**two, "state": None}, "a"),
                (two, "b"),
            ]
            words = [
                str(await sql.set_if_different(tx.handle, "shop_stock", values, where={"sku": sku}))
                for values, sku in asked
            ]
            assert words == ["same", "changed", "same", "missing"]
            assert await sql.set_if_different(tx.handle, "shop_stock", {"state": "sold"}, where={"sku": "a"})
            assert await sql.set_if_different(tx.handle, "shop_stock", {"state": None}, where={"sku": "a"})
            await tx.commit(results=(), effects=())
        assert await desk.look("SELECT amount, state FROM shop_stock") == [(2, None)]

    async def test_only_a_legal_transition_is_made_and_the_state_that_forbids_it_is_told(self, desk: Desk) -> None:
        await desk.change(STOCK)
        await desk.change("INSERT INTO shop_stock (sku, state, amount) VALUES ('a', 'paid', 1)")
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key()])

            async def move(to: str, *before: str, sku: str = "a") -> sql.Outcome:
                outcome: sql.Outcome = await sql.transition(
                    tx.handle, "shop_stock", where={"sku": sku}, to=to, allowed_from=before, values={"amount": 5}
                )
                return outcome

            refund = await move("refunded", "shipped")
            assert (str(refund), refund.state, bool(refund)) == ("illegal from state paid", "paid", False)
            assert str(await move("shipped", "paid", "packed")) == "moved"
            assert str(await move("shipped", "paid", "packed")) == "same"
            assert str(await move("shipped", "paid", sku="b")) == "missing"
            await tx.commit(results=(), effects=())
        assert await desk.look("SELECT state, amount FROM shop_stock") == [("shipped", 5)]

    @pytest.mark.parametrize("name", ["x; DROP TABLE y", 'a"b', "a`b", "", "a.b.c", "a b", "1a", "a" * 64])
    async def test_a_name_is_a_name(self, desk: Desk, name: str) -> None:
        async with transaction(desk.ledger) as tx:
            for asked in ((name, {"sku": "a"}, "sku"), ("shop_stock", {name: "a"}, name)):
                with pytest.raises(UserError, match="no name of a table or column"):
                    await sql.insert_once(tx.handle, asked[0], asked[1], key=asked[2])
