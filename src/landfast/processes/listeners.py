"""The ports on which processes of ours answer operators: for probes, for metrics, and for the admin API."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from landfast.app import Inbox
from landfast.app.metrics import Metrics
from landfast.domain.readiness import Readiness
from landfast.processes.admin_listener import open_admin
from landfast.processes.supervision.plan import AdminPlan
from landfast.telemetry.exposition import Sums
from landfast.web.http.listener import listen
from landfast.web.probe import probed


@dataclass(frozen=True, slots=True)
class Listeners:
    health: socket.socket | None = None
    """Answers `/health` and `/ready`."""
    metrics: socket.socket | None = None
    """The same, and `/metrics`."""
    admin: socket.socket | None = None
    """For the admin process."""

    @asynccontextmanager
    async def answering(
        self, inbox: Inbox, ready: Callable[[], Readiness], sums: Callable[[], Sums] | None = None
    ) -> AsyncIterator[None]:
        """Until the end of the block. `sums` is what is counted, where it is more than by this process."""
        metrics: Metrics = inbox.metrics() if sums is None else inbox.metrics().over(sums)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(probed(self.health, ready))
            await stack.enter_async_context(probed(self.metrics, ready, metrics.text))
            yield


def listeners(
    inbox: Inbox, *, health_port: int | None, metrics_port: int | None, admin: AdminPlan | None = None
) -> Listeners:
    """As the command line says, else as the settings do. ConfigError where a port is taken."""
    settings = inbox.settings
    port = settings.metrics_port if metrics_port is None else metrics_port
    return Listeners(
        None if health_port is None else listen(settings.host, health_port, setting="--health-port"),
        None if port is None else listen(settings.metrics_host, port, setting="`metrics_port` (--metrics-port)"),
        open_admin(admin),
    )
