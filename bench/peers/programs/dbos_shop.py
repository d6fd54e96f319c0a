"""DBOS: a workflow for each event under the event's id, whose one step writes through its datasource, exactly once."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from dbos import DBOS, AsyncSQLAlchemyDatasource, SetWorkflowID
from fastapi import FastAPI
from sqlalchemy import text

from bench.peers.programs import web

DSN = os.environ["BENCH_DSN"]
DBOS(config={"name": "shop", "system_database_url": DSN, "log_level": "ERROR"})
_datasource: list[AsyncSQLAlchemyDatasource] = []


async def create_order(order: dict[str, Any]) -> None:
    values = {"payment": order["payment"], "amount": order["amount"], "waited": web.waited(order)}
    await _datasource[0].sql_session().execute(text(f"{web.INSERT} (:payment, :amount, :waited)"), values)


@DBOS.workflow()
async def process(order: dict[str, Any]) -> None:
    await _datasource[0].run_tx_step_async({"isolation_level": "READ COMMITTED"}, create_order, order)


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    """Both in the loop that serves: what is recovered runs there as well."""
    _datasource[:] = [await AsyncSQLAlchemyDatasource.create(DSN)]
    DBOS.launch()
    yield
    DBOS.destroy()


app = FastAPI(lifespan=lifespan)


async def hand_on(event: str, order: dict[str, Any]) -> None:
    with SetWorkflowID(event):
        await DBOS.start_workflow_async(process, order)


web.receive_at(app, hand_on)

if __name__ == "__main__":
    web.serve(app)
