"""The part that is the same for every peer: take a request, check its signature, hand its payment on, answer."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response

from bench.deliveries import verified
from bench.servers import guard

INSERT = "INSERT INTO orders (payment_id, amount, waited) VALUES"
_STORED = b'{"status":"stored"}'

HandOn = Callable[[str, dict[str, Any]], Awaitable[None]]


def receive_at(app: FastAPI, hand_on: HandOn) -> None:
    @app.post("/in/stripe")
    async def receive(request: Request) -> Response:
        body = await request.body()
        if not verified(request.headers.get("stripe-signature", ""), body):
            return Response(status_code=401)
        event = json.loads(body)
        payment = event["data"]["object"]
        order = {"payment": payment["id"], "amount": payment["amount"], "sent": int(payment["metadata"]["sent"])}
        await hand_on(event["id"], order)
        return Response(_STORED, media_type="application/json")


def waited(order: dict[str, Any]) -> int:
    return time.time_ns() - int(order["sent"])


def serve(app: FastAPI) -> None:
    guard.end_with_our_parent()
    config = uvicorn.Config(app, loop="uvloop", http="httptools", log_level="error", access_log=False)
    uvicorn.Server(config).run(sockets=[guard.listener(guard.chosen_port())])
