"""What users write against: an Inbox with its sources, handlers and effects, and the ways to open it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar, overload

from landfast import config as configuration
from landfast import telemetry
from landfast.app import stores, wiring
from landfast.app.mount import Mounted
from landfast.app.sources import NOT_BOTH, check_handlers, check_secrets, ignored_handlers, profile_of, wants_of
from landfast.app.system_clock import SystemChance, SystemClock
from landfast.config import Settings, SourceSettings
from landfast.domain.backoff import Backoff
from landfast.domain.errors import ConfigError
from landfast.domain.event import Effect
from landfast.domain.ids import HandlerName, WorkerId
from landfast.intake.receive import Intake
from landfast.ports import inbox as ports
from landfast.ports.clock import Chance, Clock
from landfast.ports.ledger import Ledger
from landfast.processing.handlers.registry import EffectHandler, Handler, Registry
from landfast.processing.invoke import kill_this_process
from landfast.processing.worker import Worker

F = TypeVar("F", bound=Callable[..., Any])
Lifespan = Callable[[], AbstractAsyncContextManager[Any]]


class Inbox:
    """What takes webhooks in and runs your handlers. `Inbox()` reads landfast.toml in the current folder, then
    LANDFAST_* of the environment; keywords, which are the keys of landfast.toml, override both. `config` names another
    file."""

    def __init__(self, config: Path | str | None = None, **overrides: Any) -> None:
        self.settings: Settings = configuration.load(config, overrides=overrides)
        self.registry = Registry()
        self.sources: dict[str, SourceSettings] = dict(self.settings.sources)
        self.clock: Clock = SystemClock()
        self.chance: Chance = SystemChance()
        self._lifespans: list[Lifespan] = []
        for source in self.sources.values():
            profile_of(source)  # an unknown provider is known now, not at the first request

    def source(self, name: str, *, provider: str, secrets: Sequence[str], **options: Any) -> None:
        """Take webhooks at /in/{name}; the same as a table [sources.NAME] in landfast.toml. `options` are its keys, and
        those that the provider's page names. Secrets are `env:NAME`, `file:PATH` or, in tests, the secret itself."""
        if name in self.sources:
            raise ConfigError(f"source {name}: it is there already; keep it in landfast.toml or in the code, not twice")
        given = {"provider": provider, "secrets": list(secrets) if not isinstance(secrets, str) else secrets, **options}
        settings = configuration.source(name, given, where=f"source {name}: ", providers=self.settings.providers)
        profile_of(settings)
        self.sources[name] = settings

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
    ) -> Callable[[F], F]:
        """Run the function `(event, tx)` for every event of the source whose type matches the pattern, in which `*` is
        any run of characters. Its writes on `tx` commit if and only if its receipt does, so they happen once.
        It is given a `Transaction`; if it is no coroutine function it runs in a thread and is given a
        `BlockingTransaction`. What it returns is kept with the receipt, and must be JSON.

        - `name`: what its receipts are kept under, the function's own by default. Under another name it is another
          handler, without these receipts.
        - `backoff`: how long a failed event is tried again, three days by default; `attempts`: how often at most.
        - `deadline`: seconds after which it is cancelled, and the attempt has failed.
        - `isolation`: of its transaction, such as "serializable"; the database's default unless it is given.
        - `group`: whether several events of it may share one transaction while there is a backlog. Each has its
          receipt.
        - `concurrency`: how many of its events may run at the same time in one worker process. A suspect, which runs in
          a process of its own, comes on top.
        """

        def register(function: F) -> F:
            handler = name or _name_of(function)
            _must_take(function, f"handler {handler}", "(event, tx)", lambda it: it.bind(None, None))
            self.registry.add_handler(
                Handler(
                    name=HandlerName(handler),
                    source=source,
                    pattern=pattern,
                    function=function,
                    attempts=attempts,
                    backoff=backoff,
                    deadline=deadline,
                    isolation=isolation,
                    group=group,
                    concurrency=concurrency,
                )
            )
            return function

        return register

    @overload
    def effect(self, function: F, /) -> F: ...

    @overload
    def effect(
        self, /, *, name: str | None = ..., attempts: int | None = ..., backoff: Backoff = ..., deadline: float = ...
    ) -> Callable[[F], F]: ...

    def effect(
        self,
        function: F | None = None,
        /,
        *,
        name: str | None = None,
        attempts: int | None = None,
        backoff: Backoff = Backoff(),  # noqa: B008 - frozen
        deadline: float = 30.0,
    ) -> Any:
        """Register an outward action, `(effect, ...)`, that handlers stage with `tx.stage`. It is performed after their
        COMMIT, at least once, always under the same `effect.key`: pass that on as the idempotency key. The options are
        those of `on`. With or without parentheses."""

        def register(function: F) -> F:
            effect = name or _name_of(function)
            _must_take(function, f"effect {effect}", "(effect, ...)", lambda it: it.bind_partial(None))
            _must_take_itself_first(function, f"effect {effect}")
            self.registry.add_effect(
                EffectHandler(name=effect, function=function, attempts=attempts, backoff=backoff, deadline=deadline)
            )
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
        check_handlers(self.registry, self.sources)
        return wiring.intake(self.settings, self.sources.values(), self.clock, self.chance)

    def worker(
        self,
        worker_id: WorkerId | None = None,
        *,
        tell_suspects: Callable[[], None] | None = None,
        hung: Callable[[], None] = kill_this_process,
    ) -> AbstractAsyncContextManager[Worker]:
        """Open what processes events; `await worker.run()` inside it. `tell_suspects` is called while there are events
        whose worker fell silent; without it they run between the others. `hung` is called for a handler that ends
        neither at its deadline nor when it is cancelled; where it returns, the handler is left behind."""
        check_handlers(self.registry, self.sources)
        for handler, why in ignored_handlers(self.registry, self.sources):
            telemetry.warn("handler_ignored", handler=handler, reason=why, fix=NOT_BOTH)
        self.registry.wants = {name: wants_of(source) for name, source in self.sources.items()}
        limits = {name: source.concurrency for name, source in self.sources.items()}
        self.registry.source_limits = {name: limit for name, limit in limits.items() if limit is not None}
        worker_id = worker_id or WorkerId(self.chance.bytes(8))
        return wiring.worker(
            self.settings, self.registry, self._lifespans, worker_id, tell_suspects, self.clock, self.chance, hung
        )

    def archive(self) -> AbstractAsyncContextManager[ports.Inbox]:
        """Open the inbox alone, as operators see it. Nothing is migrated."""
        return stores.open_inbox(self.settings, self.clock, self.chance, migrate=False)

    def ledger(self) -> AbstractAsyncContextManager[Ledger]:
        """Open the ledger alone, whichever inbox it belongs to. Nothing is migrated."""
        return stores.open_ledger(self.settings, self.clock, self.chance, migrate=False)

    def stores(self) -> AbstractAsyncContextManager[stores.Stores]:
        """Open the inbox and its ledger. Nothing is migrated."""
        return stores.open_stores(self.settings, self.clock, self.chance, migrate=False)

    async def migrate(self) -> Sequence[str]:
        """Bring both databases up to date and bind them; the names of what was applied."""
        return await stores.migrate_both(self.settings, self.clock, self.chance)

    def asgi(self, *, workers: Literal["inline", "apart"] = "inline") -> Mounted:
        """An ASGI application to mount in FastAPI, Starlette, Litestar or Django. Call it once every source and handler
        is declared: a missing source or secret is a ConfigError here. Events are processed in this process (`inline`),
        or by `landfast work` (`apart`)."""
        if workers not in ("inline", "apart"):
            raise ConfigError(f"asgi: workers is {workers!r}; it is 'inline' or 'apart'")
        # Now, while the host is imported: later, its senders would be the first to hear of it.
        check_handlers(self.registry, self.sources)
        check_secrets(self.sources.values(), self.settings.folder)
        return Mounted(self.intake, (lambda hung: self.worker(hung=hung)) if workers == "inline" else None)


def _name_of(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", "")
    if not name or name == "<lambda>":
        raise ConfigError(
            "a handler or effect without a name of its own needs name=, which its receipts are kept under"
        )
    return name


def _must_take(
    function: Callable[..., Any], what: str, shape: str, bind: Callable[[inspect.Signature], object]
) -> None:
    try:
        bind(inspect.signature(function))
        fits = not inspect.isasyncgenfunction(function) and not inspect.isgeneratorfunction(function)
    except TypeError:
        fits = False
    if not fits:
        raise ConfigError(f"{what}: it must be a function that takes {shape} and does not yield")


def _must_take_itself_first(function: Callable[..., Any], what: str) -> None:
    """Otherwise `tx.stage(f, order_id=1)` meets an `order_id` that the Effect was already given for."""
    first = next(iter(inspect.signature(function).parameters.values()))
    by_keyword = first.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    if by_keyword and first.name != "effect" and first.annotation not in (Effect, "Effect", "landfast.Effect"):
        raise ConfigError(
            f"{what}: its first parameter is given the Effect, and is called {first.name!r};"
            f" put effect before it, or write {first.name}: Effect"
        )
