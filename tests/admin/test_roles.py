"""Every route of the table with every role: who may, may, and nobody else."""

from __future__ import annotations

import re

import httpx
import pytest

from landfast.admin.route import Route
from landfast.admin.routes import ROUTES
from landfast.domain.access import Role
from landfast.domain.filter import Filter
from landfast.domain.job import JobState, Plan
from landfast.operations.replay_jobs import begin
from tests.admin.conftest import Admin

REFUSED = {401, 403}


async def asked(admin: Admin, route: Route, token: str | None) -> httpx.Response:
    path = re.sub(r"\{\w+(:\w+)?\}", "nothing", route.path)
    headers = {} if token is None else {"authorization": token}
    return await admin.get(path, **headers) if route.method == "GET" else await admin.post(path, **headers)


async def test_every_route_takes_the_role_that_the_table_says_and_no_lesser_one(admin: Admin) -> None:
    tokens = {role: await admin.token(role) for role in Role}
    for route in ROUTES:
        for role, token in tokens.items():
            answer = await asked(admin, route, token)
            may = role.may(route.role)
            assert (answer.status_code not in REFUSED) == may, (route.path, role, answer.text)
            assert admin.clock is not None
            admin.clock.advance(1)  # a token may ask fifty times a second


async def test_nobody_gets_in_without_a_token_once_there_is_one(admin: Admin) -> None:
    for route in ROUTES:
        assert (await asked(admin, route, None)).status_code not in REFUSED, route.path
    await admin.token(Role.VIEWER)
    for route in ROUTES:
        assert (await asked(admin, route, None)).status_code == 401, route.path
        assert (await asked(admin, route, "Bearer lf_not_one")).status_code in {401, 429}, route.path
    for path in ("/api/stream", "/api/openapi.json", "/", "/anything"):
        assert (await admin.get(path)).status_code == 401, path


@pytest.mark.parametrize("role", Role)
def test_each_role_may_what_those_before_it_may(role: Role) -> None:
    ranks = list(Role)
    assert [role.may(other) for other in ranks] == [ranks.index(other) <= ranks.index(role) for other in ranks]


async def test_to_force_a_replay_takes_an_admin(admin: Admin) -> None:
    operator, chief = await admin.token(Role.OPERATOR), await admin.token(Role.ADMIN)
    body = {"filter": "state:done", "confirm": 1, "forced": True}
    assert (await admin.post("/api/replays", body, authorization=operator)).status_code == 403
    refused = await admin.post("/api/replays", body, authorization=chief)
    assert refused.json()["detail"] == "filter: nothing matches, so there is nothing to replay"


async def test_to_go_on_with_a_forced_replay_takes_an_admin_too(admin: Admin) -> None:
    """One that somebody stopped, because of what it did, say."""
    operator, chief = await admin.token(Role.OPERATOR), await admin.token(Role.ADMIN)
    archive, plan = admin.desk.archive, Plan("", "ada", "", True, None)
    job = await begin(archive, Filter(), plan, chance=admin.inbox.chance, now=admin.desk.now())
    assert await archive.end_job(job.id, JobState.STOPPED)
    for path in (f"/api/replays/{job.name}/resume", f"/do/api/replays/{job.name}/resume"):
        answer = await admin.post(path, authorization=operator)
        assert answer.status_code in {303, 403}
        assert (await archive.jobs(limit=1))[0].state is JobState.STOPPED, path
    assert "Go on" not in (await admin.get(f"/replays/{job.name}", accept="text/html", authorization=operator)).text
    assert "Go on" in (await admin.get(f"/replays/{job.name}", accept="text/html", authorization=chief)).text
    assert (await admin.post(f"/api/replays/{job.name}/resume", authorization=chief)).status_code == 200
