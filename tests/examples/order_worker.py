"""A worker for the test: it drains the shop, and is killed at the end of the function that it is told.

python order_worker.py --deliver TYPE ORDER     a webhook comes in, and nobody works on it yet
python order_worker.py [FUNCTION]
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from importlib import import_module
from typing import Any

from landfast import Inbox
from landfast.domain.delivery import Delivery, Identity
from landfast.domain.ids import WorkerId
from landfast.processing.handlers.registry import EffectHandler, Handler

inbox: Inbox = import_module("shop").inbox
WORKER = WorkerId(b"worker-1")


def dying(name: str) -> Callable[[EffectHandler | Handler], Callable[..., Any]]:
    def wrapped(known: EffectHandler | Handler) -> Callable[..., Any]:
        function = known.function
        if known.name != name:
            return function

        @wraps(function)
        async def dies(*args: Any, **kwargs: Any) -> Any:
            await function(*args, **kwargs)
            os.kill(os.getpid(), signal.SIGKILL)

        return dies

    return wrapped


async def main(name: str) -> None:
    inbox.registry = inbox.registry.wrapped(handler=dying(name), effect=dying(name))
    async with inbox.worker(WORKER) as worker:
        # What a supervisor does when it sees a worker die.
        async with inbox.stores() as stores:
            await stores.ledger.abandon(worker=WORKER)
            await stores.inbox.abandon(worker=WORKER)
        await worker.drain()


async def deliver(type_: str, order: str) -> None:
    await inbox.migrate()
    is_charge = type_ == "charge.succeeded"
    about = {"id": f"ch_{order}", "metadata": {"order": order}} if is_charge else {"id": order}
    key = f"{type_} {order}"
    came = Delivery.of(
        "stripe",
        Identity(key, type_),
        received_at=datetime.now(UTC),
        headers=b'[["content-type","application/json"]]',
        body=json.dumps({"id": key, "type": type_, "data": {"object": about}}).encode(),
    )
    async with inbox.stores() as stores:
        await stores.inbox.record([came])


asked = sys.argv[1] if len(sys.argv) > 1 else ""
asyncio.run(deliver(*sys.argv[2:]) if asked == "--deliver" else main(asked))
