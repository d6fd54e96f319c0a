"""Which processes this machine runs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from landfast.config import Settings
from landfast.domain.errors import ConfigError
from landfast.processes.children.lifeline import GRACE_SECONDS
from landfast.processes.supervision.lives import Role

ROLES: tuple[Role, ...] = ("intake", "worker", "drainer")
ALL = "all"


ADMIN_PORT = 8421


@dataclass(frozen=True, slots=True)
class AdminPlan:
    host: str
    port: int
    must_listen: bool = False
    """Somebody asked for this port: that it is taken is an error. Otherwise it is only said."""

    @property
    def is_loopback(self) -> bool:
        """Whether it can be reached from this machine alone."""
        with suppress(ValueError):
            return ip_address(self.host).is_loopback
        return self.host == "localhost"

    @property
    def address(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    app: str
    host: str
    port: int
    """Where the intakes listen. Without an intake nobody does."""
    numbers: Mapping[Role, int]
    """How many of each role; all of them are named."""
    has_suspects_process: bool = False
    """Suspects run in a process of their own, and not between the others in a worker."""
    log: str = "text"
    """How the log is written."""
    prints_to_stderr: bool = False
    """Where handlers print: standard output, unless that is for JSON lines."""
    tls_cert: Path | None = None
    tls_key: Path | None = None
    admin: AdminPlan | None = None
    """Where the admin API listens, if anywhere."""
    reload_from: Path | None = None
    """The folder whose changes restart the children, in development."""
    grace: float = GRACE_SECONDS

    @property
    def roles(self) -> list[Role]:
        return [role for role in ROLES if self.numbers[role]]

    def __str__(self) -> str:
        """`1 intake, 2 workers`."""
        return ", ".join(f"{self.numbers[role]} {role}{'s' * (self.numbers[role] > 1)}" for role in self.roles)


def numbers_of(role: str, settings: Settings, given: Mapping[Role, int | None]) -> dict[Role, int]:
    """How many of each: as the command line says, else as the settings do, and none of the other roles."""
    for other, number in given.items():
        if number is not None and role not in (other, ALL):
            raise ConfigError(f"--{other}s is given, and --role {role} runs no {other}; leave one of them out")
    if settings.journal is None and (role == "drainer" or given["drainer"]):
        asked = "--role drainer" if role == "drainer" else "--drainers"
        raise ConfigError(f'{asked}: there is no journal to drain; set journal = "nats://...", or leave it out')
    usual: dict[Role, int] = {
        "intake": settings.intakes,
        "worker": settings.workers,
        "drainer": settings.drainers if settings.journal is not None else 0,
    }
    found = {each: _chosen(given[each], usual[each]) if role in (each, ALL) else 0 for each in ROLES}
    if not any(found.values()):
        raise ConfigError(f"--role {role}: workers is 0, and so there is nothing to run; set it to 1 or more")
    return found


def admin_of(role: str, settings: Settings, given: int | None) -> AdminPlan | None:
    """As the command line says, else as the settings do. A machine that runs one role has none unless it is said."""
    port = settings.admin_port if given is None else given
    if port is None:
        return AdminPlan(settings.admin_host, ADMIN_PORT) if role == ALL else None
    return AdminPlan(settings.admin_host, port, must_listen=True) if port else None


def _chosen(given: int | None, usual: int) -> int:
    return usual if given is None else given
