"""`inbox.endpoint`: a path whose callers want an answer, declared with the function that makes it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from landfast import config as configuration
from landfast.app.function_shapes import name_of
from landfast.app.handler_parameters import asked_of_ledger
from landfast.app.sources import profile_of
from landfast.config import Settings, SourceSettings, nearest
from landfast.domain.backoff import Backoff
from landfast.domain.endpoint import LONGEST_WAIT_SECONDS, Endpoint, OnFailure, checked_path
from landfast.domain.errors import ConfigError
from landfast.domain.ids import HandlerName
from landfast.processing.handlers.registry import Handler, Registry

F = TypeVar("F", bound=Callable[..., Any])

LOOPBACK = "loopback"

ENDPOINT_ATTEMPTS = 3
"""A caller waits, and comes again by itself: after three tries within seconds it is better told that it failed."""

NOT_FOR_CALLS = frozenset(
    [
        "dedup",
        "dedup_key",
        "ordered_by",
        "same_key",
        "unsigned_type",
        "ignore",
        "unhandled",
        "listing",
        "reconcile",
        "confirm_subscription",
    ]
)
"""Keys of a source that say what a webhook is."""


class Endpoints:
    """The part of an Inbox that declares endpoints."""

    settings: Settings
    registry: Registry
    sources: dict[str, SourceSettings]

    def endpoint(
        self,
        path: str,
        *,
        name: str | None = None,
        provider: str = "generic",
        secrets: Sequence[str] = (),
        wait: float = 10.0,
        failed: str = OnFailure.ANSWER,
        attempts: int | None = ENDPOINT_ATTEMPTS,
        backoff: Backoff = Backoff(first=0.5, longest=5.0),  # noqa: B008 - frozen
        deadline: float = 30.0,
        isolation: str | None = None,
        group: bool = True,
        concurrency: int | None = None,
        writes: bool = True,
        **options: Any,
    ) -> Callable[[F], F]:
        """Answer `POST path` with what the function `(event, tx)` returns: a `Response`, or any value that is JSON. A
        call is an event under the caller's `Idempotency-Key`, durable before the function runs; its answer commits
        with its writes, and is told again to whoever sends the call again. Another body under the key is told 422.

        - `name`: of its source and its handler; the function's own by default.
        - `provider`, `secrets` and `options`: how a caller proves itself, as for `source`. The default is an HMAC over
          time, method, path, key and body; `"loopback"` asks for no proof, and is for callers on this machine alone.
        - `wait`: seconds that a caller waits for its answer, before it is told 202 and to come again; 60 at most.
        - `failed`: what a key is told that has failed for good: `"answer"`, the stored failure, or `"run_again"`.

        The others are those of `on`.
        """
        endpoint = Endpoint(
            path=checked_path(path),
            handler=HandlerName(name or ""),
            wait=_wait(path, wait),
            failed=_failed(path, failed),
        )
        tried = {"attempts": attempts, "backoff": backoff, "deadline": deadline}
        handling = tried | {"isolation": isolation, "group": group, "concurrency": concurrency, "writes": writes}
        proving = {**options, "provider": provider, "secrets": secrets}
        return lambda function: self._add_endpoint(function, endpoint, handling, proving)

    def _add_endpoint(self, function: F, endpoint: Endpoint, handling: dict[str, Any], proving: dict[str, Any]) -> F:
        what = f"endpoint {endpoint.path}"
        name = endpoint.handler or HandlerName(name_of(function))
        settings = self._endpoint_settings(what, name, proving, replace(endpoint, handler=name))
        asked = asked_of_ledger(function, what, self.settings.ledger_driver)
        self.registry.add_handler(
            Handler(name=name, source=name, pattern="*", function=function, asked=asked, answers=True, **handling)
        )
        self.sources[name] = settings
        return function

    def _endpoint_settings(self, what: str, name: str, proving: dict[str, Any], endpoint: Endpoint) -> SourceSettings:
        options = {key: value for key, value in proving.items() if key not in {"provider", "secrets"}}
        provider, secrets = proving["provider"], proving["secrets"]
        for other in self.sources.values():
            if other.path == endpoint.path:
                raise ConfigError(f"{what}: the path is taken by {other.name}; take another one")
        if name in self.sources:
            raise ConfigError(f"{what}: there is a source {name!r} already; give the endpoint a name= of its own")
        for key in options:
            if key in NOT_FOR_CALLS:
                raise ConfigError(f"{what}: {key} is for webhooks; a call is known by its Idempotency-Key")
        if provider == LOOPBACK:
            return _open(what, name, secrets, options, endpoint, self.settings)
        if not secrets:
            raise ConfigError(
                f'{what}: secrets is missing; give at least one, such as secrets=["env:MY_SECRET"], or say'
                f' provider="{LOOPBACK}" for callers on this machine that need no proof'
            )
        given = {**_signed(provider, options), "provider": provider, "secrets": secrets}
        if not isinstance(secrets, str):
            given["secrets"] = list(secrets)
        made = configuration.source(name, given, where=f"{what}: ", providers=self.settings.providers)
        settings = replace(made, endpoint=endpoint)
        profile_of(settings)
        return settings


def _signed(provider: str, options: dict[str, Any]) -> dict[str, Any]:
    """Unless the user says what is signed: time, method, path and key, too. Else whoever captures a call could send it
    again under another key, or to another endpoint."""
    from landfast.providers.endpoint import SIGNED_CALL

    is_told = provider != "generic" or any(key in options for key in SIGNED_CALL)
    return options if is_told else {**SIGNED_CALL, **options}


def _open(
    what: str, name: str, secrets: Sequence[str], options: dict[str, Any], endpoint: Endpoint, settings: Settings
) -> SourceSettings:
    """Without proof, for this machine alone."""
    from landfast.providers.endpoint import LOOPBACK_NETWORKS

    if secrets:
        raise ConfigError(
            f"{what}: provider is {LOOPBACK!r}, which asks for no proof; leave secrets out, or name another"
        )
    if "allow_from" in options:
        raise ConfigError(f"{what}: allow_from is this machine where provider is {LOOPBACK!r}; leave it out")
    given = {**options, "provider": "generic", "secrets": ["-"], "allow_from": list(LOOPBACK_NETWORKS)}
    made = configuration.source(name, given, where=f"{what}: ", providers=settings.providers)
    if made.options:
        raise ConfigError(f"{what}: there is no option {next(iter(made.options))!r} where provider is {LOOPBACK!r}")
    return replace(made, provider=LOOPBACK, secrets=(), endpoint=endpoint)


def _wait(path: str, seconds: float) -> float:
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool) and math.isfinite(seconds)
    if not is_number or not 0 <= seconds <= LONGEST_WAIT_SECONDS:
        raise ConfigError(f"endpoint {path}: wait is {seconds!r}; it is seconds from 0 to {LONGEST_WAIT_SECONDS:g}")
    return float(seconds)


def _failed(path: str, chosen: str) -> OnFailure:
    known = [str(each) for each in OnFailure]
    if chosen not in known:
        hint = nearest(str(chosen), known) or f"; it is {' or '.join(map(repr, known))}"
        raise ConfigError(f"endpoint {path}: there is no policy failed={chosen!r}{hint}")
    return OnFailure(chosen)
