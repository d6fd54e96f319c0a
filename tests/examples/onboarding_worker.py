"""A worker for the test: it drains the shop, and is killed inside the step that it is told, once that was performed.

python onboarding_worker.py --deliver     a payment comes in, and nobody works on it yet
python onboarding_worker.py [STEP]
"""

from __future__ import annotations

import asyncio
import inspect
import os
import signal
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from importlib import import_module
from typing import Any

from landfast import Inbox
from landfast.domain.delivery import Delivery, Identity
from landfast.domain.ids import WorkerId
from landfast.processing.handlers.registry import EffectHandler
from tests.patience import PATIENCE_SECONDS

inbox: Inbox = import_module("shop").inbox
WORKER = WorkerId(b"worker-1")
BESIDE = {"send_welcome": "make_server"}
"""Who runs beside a step that is killed, and is to be killed with it: else it might be done, and nothing left to kill."""


def dying(step: str) -> Callable[[EffectHandler], Callable[..., Any]]:
    def wrapped(effect: EffectHandler) -> Callable[..., Any]:
        function = effect.function
        if effect.name == BESIDE.get(step):
            return _stuck(function)
        if effect.name != step:
            return function

        @wraps(function)
        async def waits_and_dies(*args: Any, **kwargs: Any) -> Any:
            await function(*args, **kwargs)
            os.kill(os.getpid(), signal.SIGKILL)

        @wraps(function)
        def dies(*args: Any, **kwargs: Any) -> Any:
            function(*args, **kwargs)
            os.kill(os.getpid(), signal.SIGKILL)

        return waits_and_dies if inspect.iscoroutinefunction(function) else dies

    return wrapped


def _stuck(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def waits(*args: Any, **kwargs: Any) -> Any:
        function(*args, **kwargs)
        threading.Event().wait(PATIENCE_SECONDS)
        raise RuntimeError("nobody killed this process")

    return waits


async def main(step: str) -> None:
    inbox.registry = inbox.registry.wrapped(handler=lambda handler: handler.function, effect=dying(step))
    async with inbox.worker(WORKER) as worker:
        # What a supervisor does when it sees a worker die.
        async with inbox.ledger() as ledger:
            await ledger.abandon(worker=WORKER)
        await worker.drain()


async def deliver() -> None:
    await inbox.migrate()
    body = b'{"id":"evt_1","type":"payment_intent.succeeded","data":{"object":{"id":"pi_1"}}}'
    paid = Delivery.of(
        "stripe",
        Identity("evt_1", "payment_intent.succeeded"),
        received_at=datetime.now(UTC),
        headers=b'[["content-type","application/json"]]',
        body=body,
    )
    async with inbox.stores() as stores:
        await stores.inbox.record([paid])


asked = sys.argv[1] if len(sys.argv) > 1 else ""
asyncio.run(deliver() if asked == "--deliver" else main(asked))
