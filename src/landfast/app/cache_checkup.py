"""The checkup of the shared seen cache: no promise depends on it, and intake is slower without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from landfast.app.seen_cache import marks_at
from landfast.caches.redis_marks import UNANSWERED
from landfast.config import Server
from landfast.domain.errors import LandfastError
from landfast.recovery.doctor import Check, Level, failed

NAME = "seen cache"


async def examine_cache(server: Server | None) -> Sequence[Check]:
    """Nothing where there is none."""
    if server is None:
        return []
    try:
        marks = marks_at(server, b"doctor")
    except LandfastError as error:
        return [failed(NAME, error)]
    try:
        await marks.connect()
        return _judged(server, await marks.about())
    except UNANSWERED as error:
        why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        fix = f"start it, or correct {server.origin}; until then every duplicate is asked of the inbox"
        return [Check(NAME, Level.FAIL, f"{server} cannot be used ({why})", fix)]
    finally:
        await marks.close()


def _judged(server: Server, about: Mapping[str, str]) -> Sequence[Check]:
    policy = about.get("maxmemory_policy", "noeviction")
    limit = about.get("maxmemory", "0")
    kind = about.get("server_name", "redis")  # only Valkey says it
    version = about.get(f"{kind}_version", about.get("redis_version", "of an unknown version"))
    bounds = "no limit of memory" if limit == "0" else f"evicts by {policy}"
    found = f"{server} is reachable, {kind} {version}, {bounds}; it need not be persistent"
    checks = [Check(NAME, Level.OK, found)]
    if limit != "0" and policy == "noeviction":
        fix = "set maxmemory-policy allkeys-lru"
        checks.append(Check(NAME, Level.WARN, "it evicts nothing: once it is full, it takes no more marks", fix))
    if about.get("role") == "slave":
        fix = f"point {server.origin} to its primary"
        checks.append(Check(NAME, Level.WARN, "it is a replica and takes no marks", fix))
    if about.get("cluster_enabled") == "1":
        fix = f"point {server.origin} to a server that is not part of a cluster"
        checks.append(Check(NAME, Level.WARN, "it is one of a cluster, where one batch is spread over many", fix))
    return checks
