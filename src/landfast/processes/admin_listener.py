"""The socket of the admin API: opened by the supervisor, so that a port that is taken is said once."""

from __future__ import annotations

import socket

from landfast import telemetry
from landfast.app import Inbox
from landfast.domain.errors import ConfigError, LandfastError
from landfast.processes.supervision.plan import AdminPlan
from landfast.web.http.listener import listen


def open_admin(plan: AdminPlan | None) -> socket.socket | None:
    """None where nobody asked for one, or where the usual port is taken and nobody asked for that very one: a second
    server on this machine takes webhooks in all the same."""
    if plan is None:
        return None
    try:
        return listen(plan.host, plan.port, setting="`admin_port` (--admin-port)")
    except ConfigError as error:
        if plan.must_listen:
            raise
        telemetry.warn("admin_port_taken", error=error)
        return None


async def may_listen(inbox: Inbox, plan: AdminPlan) -> bool:
    """Beyond this machine only where there is a token to be shown, or somewhere to sign in: without one nobody could
    ever get in, and a port that is open for no reason is one too many."""
    if plan.is_loopback or inbox.settings.oidc is not None:
        return True
    try:
        async with inbox.archive() as archive:
            if any(token.is_valid(inbox.clock.now()) for token in await archive.tokens()):
                return True
    except LandfastError:  # it is away: who asks later is refused as long as nobody can look
        return True
    telemetry.warn("admin_closed", host=plan.host, fix="landfast tokens create NAME --role admin, then restart")
    return False
