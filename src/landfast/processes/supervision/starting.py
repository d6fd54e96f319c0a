"""How each process of a plan is started."""

from __future__ import annotations

import socket
from asyncio.subprocess import DEVNULL
from dataclasses import dataclass
from typing import IO, assert_never

from landfast.domain.ids import WorkerId
from landfast.processes.children.worker_alone import suspects_command
from landfast.processes.supervision.child import Child
from landfast.processes.supervision.lives import ProcessKind
from landfast.processes.supervision.pages import Pages
from landfast.processes.supervision.plan import Plan


@dataclass(frozen=True, slots=True)
class Starter:
    plan: Plan
    listener: socket.socket | None
    """What the intakes share."""
    admin: socket.socket | None
    """What the admin process listens on."""
    pages: Pages

    async def start(self, kind: ProcessKind, worker: WorkerId) -> Child:
        listeners: dict[ProcessKind, socket.socket | None] = {"intake": self.listener, "admin": self.admin}
        return await self.pages.start(kind, self._command(kind, worker), listeners.get(kind))

    def _command(self, kind: ProcessKind, worker: WorkerId) -> list[str]:
        app, options = self.plan.app, ["--log", self.plan.log]
        options += ["--prints-to-stderr"] if self.plan.prints_to_stderr else []
        match kind:
            case "intake":
                return ["_intake", app, *self._tls(), *options]
            case "worker":
                apart = ["--suspects", "apart"] if self.plan.has_suspects_process else []
                return ["work", app, "--worker-id", worker.hex(), *apart, *options]
            case "suspects":
                return [*suspects_command(app, worker), *options]
            case "drainer":
                return ["drain", app, *options]
            case "admin":
                is_local = self.plan.admin is None or self.plan.admin.is_loopback
                return ["_admin", app, *(["--loopback"] if is_local else self._tls()), *options]
        assert_never(kind)

    async def trial(self, words: IO[bytes]) -> Child:
        """A process that loads the application, and is ready if the others could be. It prints into the void."""
        return await Child.start(["_try", self.plan.app, *self._tls()], stdout=DEVNULL, stderr=words)

    def _tls(self) -> list[str]:
        given = (("--tls-cert", self.plan.tls_cert), ("--tls-key", self.plan.tls_key))
        return [word for option, path in given if path is not None for word in (option, str(path))]
