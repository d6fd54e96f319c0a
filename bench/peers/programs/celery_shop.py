"""Celery on Redis (here Valkey, which speaks the same), acknowledged late: a killed worker's task comes again."""

from __future__ import annotations

import os
from typing import Any

import psycopg
from celery import Celery
from fastapi import FastAPI
from fastapi.concurrency import run_in_threadpool

from bench.peers.programs import web

celery = Celery("shop", broker=os.environ["BENCH_REDIS"])
celery.conf.update(
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_ignore_result=True,
    # An hour if nothing is said: nobody would wait that long here for what a killed worker had in hand.
    broker_transport_options={"visibility_timeout": 20},
    worker_hijack_root_logger=False,
)
app = FastAPI()
_connections: list[psycopg.Connection[Any]] = []


@celery.task(name="create_order", autoretry_for=(Exception,), retry_backoff=True, max_retries=10)
def create_order(order: dict[str, Any]) -> None:
    if not _connections:  # one for each process of the pool
        _connections.append(psycopg.connect(os.environ["BENCH_DSN"], autocommit=True))
    values = (order["payment"], order["amount"], web.waited(order))
    _connections[0].execute(f"{web.INSERT} (%s, %s, %s)", values)


async def hand_on(event: str, order: dict[str, Any]) -> None:
    await run_in_threadpool(create_order.apply_async, (order,), task_id=event)


web.receive_at(app, hand_on)

if __name__ == "__main__":
    web.serve(app)
