"""What users write against: an Inbox with its sources, handlers and effects, and the ways to open it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from landfast import config as configuration
from landfast.app.declaring import Declaring
from landfast.app.endpoints import Endpoints
from landfast.app.function_shapes import known_options, must_take, must_take_itself_first, name_of
from landfast.app.handler_parameters import asked_of_ledger_by_step
from landfast.app.opened import Opened
from landfast.app.sources import NOT_BOTH, check_secrets, ignored_handlers, profile_of, wants_of
from landfast.app.system_clock import SystemChance, SystemClock
from landfast.config import SourceSettings
from landfast.domain.backoff import Backoff
from landfast.domain.dependency import checked_uses
from landfast.domain.errors import ConfigError
from landfast.domain.ids import WorkerId
from landfast.processing.handlers.registry import EffectHandler, Registry

if TYPE_CHECKING:  # imported when they are used: a host that declares its handlers should not wait for all of Landfast
    from landfast.app.middleware import Middleware
    from landfast.app.mount import Mounted
    from landfast.app.wsgi_mount import WsgiMounted
    from landfast.config.forwards import ForwardSettings
    from landfast.domain.retention import Retention
    from landfast.forwarding.forward import Target
    from landfast.intake.receive import Intake
    from landfast.processing.worker import Worker

F = TypeVar("F", bound=Callable[..., Any])
Lifespan = Callable[[], AbstractAsyncContextManager[Any]]


class Inbox(Declaring, Endpoints, Opened):
    """What takes webhooks in and runs your handlers. `Inbox()` reads landfast.toml in the current folder, then
    LANDFAST_* of the environment; keywords, which are the keys of landfast.toml, override both. `config` names another
    file."""

    def __init__(self, config: Path | str | None = None, **overrides: Any) -> None:
        self.settings = configuration.load(config, overrides=overrides)
        self.registry = Registry()
        self.sources: dict[str, SourceSettings] = dict(self.settings.sources)
        self.clock = SystemClock()
        self.chance = SystemChance()
        self._lifespans: list[Lifespan] = []
        self.forwards: dict[str, Target] = {}
        for dependency in self.settings.dependencies.values():
            self.registry.add_dependency(dependency)
        for source in self.sources.values():
            profile_of(source)  # an unknown provider is known now, not at the first request
        for forward in self.settings.forwards:
            self._declare_forward(forward)

    def source(self, name: str, *, provider: str, secrets: Sequence[str], **options: Any) -> None:
        """Take webhooks at /in/{name}; the same as a table [sources.NAME] in landfast.toml. `options` are its keys, and
        those that the provider's page names. Secrets are `env:NAME`, `file:PATH` or, in tests, the secret itself."""
        if name in self.sources:
            raise ConfigError(f"source {name}: it is there already; keep it in landfast.toml or in the code, not twice")
        given = {"provider": provider, "secrets": list(secrets) if not isinstance(secrets, str) else secrets, **options}
        settings = configuration.source(name, given, where=f"source {name}: ", providers=self.settings.providers)
        profile_of(settings)
        self.sources[name] = settings

    def dependency(self, name: str, *, rate: float | None = None) -> None:
        """Say at which rate all workers together may call what handlers and effects name in `uses`, in calls a second;
        the same as a table [dependencies.NAME] in landfast.toml."""
        self.registry.add_dependency(configuration.dependency(name, {"rate": rate}, where=f"dependency {name}: "))

    def forward(self, name: str, *, url: str, source: str, secrets: Sequence[str], **options: Any) -> None:
        """Send each event of the source on to a service in any language, over HTTP and signed as the Standard Webhooks
        are; the same as a table [[forward]] in landfast.toml, whose keys are the `options`."""
        given = {"name": name, "url": url, "source": source, "secrets": [*secrets], **options}
        self._declare_forward(configuration.forward(given, where=f"forward {name}: "))

    @known_options
    def on(
        self,
        source: str,
        pattern: str,
        *,
        name: str | None = None,
        attempts: int | None = None,
        backoff: Backoff = Backoff(),  # noqa: B008 - frozen
        deadline: float = 30.0,
        isolation: str | None = None,
        group: bool = True,
        concurrency: int | None = None,
        ordered: bool = False,
        on_dead: Literal["block", "skip"] = "block",
        writes: bool = True,
        newest_only: bool | str = False,
        entity: str | None = None,
        lifecycle: str | None = None,
        uses: Sequence[str] = (),
    ) -> Callable[[F], F]:
        """Run the function `(event, tx)` for every event of the source whose type matches the pattern, in which `*` is
        any run of characters. Its writes on `tx` commit if and only if its receipt does, so they happen once.
        It is given a `Transaction`; if it is no coroutine function it runs in a thread and is given a
        `BlockingTransaction`. Where the ledger is your own engine or pool it may ask for `session` or `conn` as well,
        by annotation or by name. What it returns is kept with the receipt, and must be JSON.

        - `name`: what its receipts are kept under, the function's own by default; another name is another handler.
        - `backoff`: how long a failed event is tried again, three days by default; `attempts`: how often at most.
        - `deadline`: seconds after which it is cancelled, and the attempt has failed.
        - `isolation`: of its transaction, such as "serializable"; the database's default unless it is given.
        - `group`: whether several events, each with its receipt, may share a transaction while there is a backlog.
        - `concurrency`: how many of its events run at a time in one worker process; a suspect comes on top.
        - `ordered`: the events of one entity one by one, as they occurred; `on_dead`: whether a dead one blocks others.
        - `writes`: False if it is meant to write nothing here; of any other that never does, Landfast warns.
        - `newest_only`: pass over an event once a newer one of its entity is done, by the sender's time (True) or by
          the version at a path of its data ("data.object.version"): it is superseded. Of two that tie both run.
        - `entity`: what `newest_only` goes by, a path in the data, where that is not the entity of the source.
        - `lifecycle`: the one of `inbox.lifecycle` that says from which states its events are legal.
        - `uses`: what it calls, by name, such as ["mailer"]: its events wait while that is away, and lose no attempt.
        """
        tries = {"attempts": attempts, "backoff": backoff, "deadline": deadline}
        runs = {"isolation": isolation, "group": group, "concurrency": concurrency, "writes": writes}
        order = {"ordered": ordered, "on_dead": on_dead}
        rules = {"newest_only": newest_only, "entity": entity, "lifecycle": lifecycle}
        return self._handling(source, pattern, name, uses, {**tries, **runs, **order, **rules})

    @overload
    def effect(self, function: F, /) -> F: ...

    @overload
    def effect(
        self,
        /,
        *,
        name: str | None = ...,
        attempts: int | None = ...,
        backoff: Backoff = ...,
        deadline: float = ...,
        uses: Sequence[str] = ...,
    ) -> Callable[[F], F]: ...

    @known_options
    def effect(
        self,
        function: F | None = None,
        /,
        *,
        name: str | None = None,
        attempts: int | None = None,
        backoff: Backoff = Backoff(),  # noqa: B008 - frozen
        deadline: float = 30.0,
        uses: Sequence[str] = (),
    ) -> Any:
        """Register an outward action, `(effect, ...)`, that handlers stage with `tx.stage`. It is performed after their
        COMMIT, at least once, always under the same `effect.key`: pass that on as the idempotency key. One that has a
        parameter `tx: Transaction` writes to the ledger's database instead, exactly once. What it returns is kept if it
        is JSON, for steps that are staged after it. The options are those of `on`. With or without parentheses."""

        def register(function: F) -> F:
            effect = name or name_of(function)
            must_take(function, f"effect {effect}", "(effect, ...)", lambda it: it.bind_partial(None))
            must_take_itself_first(function, f"effect {effect}")
            asked = asked_of_ledger_by_step(function, f"effect {effect}", self.settings.ledger_driver)
            options: dict[str, Any] = {"attempts": attempts, "backoff": backoff, "deadline": deadline}
            names = checked_uses(uses, f"effect {effect}")
            self.registry.add_effect(EffectHandler(name=effect, function=function, asked=asked, uses=names, **options))
            function.__landfast_effect__ = effect  # type: ignore[attr-defined]  # how `tx.stage(function)` finds it
            return function

        return register if function is None else register(function)

    def lifespan(self, function: F) -> F:
        """Register an async context manager, or an async generator that yields once. Each worker enters it before its
        first event and leaves it after its last: open clients in it. Several are entered in order, and left in the
        opposite one."""
        opener: Any = asynccontextmanager(function) if inspect.isasyncgenfunction(function) else function
        self._lifespans.append(opener)
        return function

    def intake(self) -> AbstractAsyncContextManager[Intake]:
        """Open what takes webhooks in. It needs no ledger, so a slow or absent one never delays an answer."""
        from landfast.app import wiring

        self.check_declared()
        return wiring.intake(self.settings, self.sources.values(), self.clock, self.chance)

    def worker(
        self,
        worker_id: WorkerId | None = None,
        *,
        tell_suspects: Callable[[], None] | None = None,
        hung: Callable[[], None] | None = None,
    ) -> AbstractAsyncContextManager[Worker]:
        """Open what processes events; `await worker.run()` inside it. `tell_suspects` is called while there are events
        whose worker fell silent; without it they run between the others. `hung` is called for a handler that ends
        neither at its deadline nor when it is cancelled; where it returns, the handler is left behind. Without it, this
        process is killed."""
        from landfast import telemetry
        from landfast.app import wiring
        from landfast.app.forwards import check_targets
        from landfast.app.reconcile_schedule import Schedule, with_schedule
        from landfast.processing.invoke import kill_this_process

        self.check_declared()
        check_targets(self.forwards.values())
        for handler, why in ignored_handlers(self.registry, self.sources):
            telemetry.warn("handler_ignored", handler=handler, reason=why, fix=NOT_BOTH)
        self.registry.wants = {name: wants_of(source) for name, source in self.sources.items()}
        limits = {name: source.concurrency for name, source in self.sources.items()}
        self.registry.source_limits = {name: limit for name, limit in limits.items() if limit is not None}
        worker_id = worker_id or WorkerId(self.chance.bytes(8))
        hung = hung or kill_this_process
        given = self.settings, self.registry, self._lifespans, worker_id, tell_suspects, self.clock, self.chance, hung
        opening = wiring.worker(*given, self.retention)
        sources = self.sources.values()
        return with_schedule(opening, Schedule(sources, self.settings, self.registry, self.clock, self.chance))

    @property
    def retention(self) -> Retention:
        """How long things are kept, by source. ConfigError where a source's memory is shorter than its sender's."""
        from landfast.app.retention import retention_of

        return retention_of(self.settings, self.sources.values())

    def asgi(self, *, workers: Literal["inline", "apart"] = "inline") -> Mounted:
        """An ASGI application to mount in FastAPI, Starlette, Litestar or Django. Call it once every source and handler
        is declared: a missing source or secret is a ConfigError here. Events are processed in this process (`inline`),
        or by `landfast work` (`apart`)."""
        return self._mounted("asgi", workers)

    def wsgi(self, *, workers: Literal["inline", "apart"] = "apart") -> WsgiMounted:
        """The same as a WSGI application, for Flask, Django and any other under gunicorn, uWSGI or mod_wsgi. Each
        process opens what it needs at its first request. Events are processed by `landfast work` (`apart`), or in each
        of the server's processes (`inline`)."""
        from landfast.app.wsgi_mount import WsgiMounted

        return WsgiMounted(self._mounted("wsgi", workers).another)

    def middleware(self, routes: Mapping[str, str] | None = None) -> Middleware:
        """What stands in front of a route that you have already and proves who sent, keeps the event, and answers
        duplicates itself: `routes` says which source sends to which path. Use its `asgi`, `wsgi` or `view`; its
        docstring says what it cannot promise."""
        from landfast.app.middleware import in_front_of

        return in_front_of(self, routes or {})

    def _declare_forward(self, settings: ForwardSettings) -> None:
        from landfast.app.forwards import declare_forward

        declare_forward(self, settings)

    def _mounted(self, what: str, workers: str) -> Mounted:
        if workers not in ("inline", "apart"):
            raise ConfigError(f"{what}: workers is {workers!r}; it is 'inline' or 'apart'")
        from landfast.app.mount import Mounted

        # Now, while the host is imported: later, its senders would be the first to hear of it.
        self.check_declared()
        check_secrets(self.sources.values(), self.settings.folder)
        return Mounted(self.intake, (lambda hung: self.worker(hung=hung)) if workers == "inline" else None)
