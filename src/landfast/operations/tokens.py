"""Tokens of the admin API, as operators make and revoke them: with a line in the operator log."""

from __future__ import annotations

import base64
import re

from landfast.domain.access import TOKEN_BYTES, TOKEN_START, Role, token_digest
from landfast.domain.errors import UserError
from landfast.domain.operator_log import Action
from landfast.operations.operator_log import audited
from landfast.ports.clock import Chance
from landfast.ports.inbox import Inbox

_NAME = re.compile(r"[\w.@+-]{1,100}")


async def create(
    inbox: Inbox, name: str, role: Role, *, lasting: float | None, who: str, why: str, chance: Chance
) -> str:
    """The token itself: it is known to nobody else, and to us never again."""
    if not _NAME.fullmatch(name):
        raise UserError(
            "tokens create: a name has letters, digits and . _ @ + - alone, 100 at most, such as ci or anna"
        )
    token = TOKEN_START + base64.urlsafe_b64encode(chance.bytes(TOKEN_BYTES)).decode().rstrip("=")
    what = {"made": name, "role": role, "seconds": lasting}
    async with audited(inbox, Action.TOKEN, who=who, why=why, what=what) as audit:
        if not await inbox.add_token(name, role, token_digest(token), who=who, lasting=lasting):
            raise UserError(f"tokens create: there is a token {name!r}; choose another name, or revoke that one first")
        audit.counted(1)
    return token


async def revoke(inbox: Inbox, name: str, *, who: str, why: str) -> bool:
    """Whether there was one."""
    async with audited(inbox, Action.TOKEN, who=who, why=why, what={"revoked": name}) as audit:
        was_there = await inbox.revoke_token(name)
        audit.counted(int(was_there))
    return was_there
