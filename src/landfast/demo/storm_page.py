"""The storm on the dashboard: what a person sees of it, and the buttons that only the demo has."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from landfast.admin.access.guard import require
from landfast.admin.desk import Desk
from landfast.admin.pages import site
from landfast.admin.pages.ask import Ask
from landfast.admin.pages.frame import environment
from landfast.admin.pages.notice import Notice, put
from landfast.admin.pages.page import Page
from landfast.admin.pages.part import Part
from landfast.admin.pages.proof import TONES, balance_of
from landfast.admin.problems import problem_of
from landfast.demo.play import KILLS, Kill, Score
from landfast.demo.stage import Phase, Stage
from landfast.domain.access import Role
from landfast.recovery.proof import Proof

TEMPLATES = environment(Path(__file__).parent / "templates")
PROOF_SECONDS = 5.0
"""For which a proof is shown again: it is asked for while nothing changes."""


class Side(msgspec.Struct):
    """One of the two shops."""

    answered: int
    orders: int


class StormView(msgspec.Struct):
    phase: Phase
    event: str
    deliveries: int
    naive: Side
    ours: Side
    killed: Sequence[Kill]
    kills_left: int
    worker: int | None
    """Its pid; None between two."""
    waits_seconds: int | None
    """Until the worker is killed without anybody; None while nobody is waited for."""
    seconds: float
    """That it has taken."""


def view(stage: Stage) -> StormView:
    score, now = stage.score, time.monotonic()
    ended = now if stage.phase == "storm" else stage.ended
    return StormView(
        phase=stage.phase,
        event=score.event,
        deliveries=score.deliveries,
        naive=Side(score.naive.total, score.naive_orders),
        ours=Side(score.ours.total, score.our_orders),
        killed=list(score.killed),
        kills_left=KILLS - len(score.killed),
        worker=next(iter(stage.theatre.shop.pids("worker")), None),
        waits_seconds=None if stage.kills_at is None else max(0, round(stage.kills_at - now)),
        seconds=max(0.0, ended - stage.began),
    )


def storm_page(stage: Stage) -> Page:
    async def gather(ask: Ask) -> Mapping[str, Any]:
        stage.see()
        seen = view(stage)
        proof = await ask.shared("proof.proof", PROOF_SECONDS) if seen.phase == "over" else None
        return {"storm": Part(seen), **({"proof": proof} if proof else {})}

    return Page("storm", "/storm", "The storm", gather, _draw, templates=TEMPLATES)


def _draw(parts: Mapping[str, Any], _ask: Ask) -> Mapping[str, Any]:
    proof = parts["proof"].value if "proof" in parts else None
    balances = [(one, balance_of(one)) for one in proof.equations] if proof else []
    return {"proof": parts.get("proof"), "tones": TONES, "balances": balances}


def buttons(stage: Stage, tell: Callable[[Score, Proof], None]) -> Sequence[BaseRoute]:
    """Behind the same guard as every other change, which has looked at Origin and Sec-Fetch-Site before."""

    def play_again() -> str:
        stage.play_again(tell)
        return "the storm begins"

    acts = {"/storm/kill": stage.kill, "/storm/play": play_again}
    return [Route(path, partial(_do, act=act), methods=["POST"]) for path, act in acts.items()]


async def _do(request: Request, act: Callable[[], str]) -> Response:
    try:
        require(request, Role.ADMIN)
        notice = Notice("ok", act())
    except Exception as error:  # noqa: BLE001 - whatever it is, the page says so
        notice = Notice("warn", problem_of(error).detail)
    response = RedirectResponse("/storm", 303)
    put(response, notice)
    return response


def pages(desk: Desk, stage: Stage, tell: Callable[[Score, Proof], None]) -> Sequence[BaseRoute]:
    return site.pages(desk, [storm_page(stage)], buttons(stage, tell))
