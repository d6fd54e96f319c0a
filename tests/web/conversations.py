"""Hostile clients that take more than one write, against any server that is real. Slowness is in `test_connection`,
where the time is the test's own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from tests.intake.desk import body
from tests.web.client import Client, in_chunks
from tests.web.hostile import Signer

Talk = Callable[[Client, Signer], Awaitable[list[int]]]
"""Talk to the server on a fresh connection; the answers that it gave."""

BODY = body(77)
HEALTH = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"


async def _until_it_closes(client: Client, *, answers: int) -> list[int]:
    statuses = [(await client.reply()).status for _ in range(answers)]
    assert await client.rest() == b""
    return statuses


def _half_closed(build: Callable[[Signer], bytes], *, answers: int = 1) -> Talk:
    async def talk(client: Client, signer: Signer) -> list[int]:
        await client.send(build(signer))
        client.half_close()
        return await _until_it_closes(client, answers=answers)

    return talk


def _dribbled(step: int) -> Talk:
    async def talk(client: Client, signer: Signer) -> list[int]:
        request = signer.post(BODY)
        for at in range(0, len(request), step):
            await client.send(request[at : at + step])
            await asyncio.sleep(0)
        return [(await client.reply()).status]

    return talk


def _pipelined(build: Callable[[Signer], bytes], *, answers: int) -> Talk:
    async def talk(client: Client, signer: Signer) -> list[int]:
        await client.send(build(signer))
        return [(await client.reply()).status for _ in range(answers)]

    return talk


async def _continue_then_body(client: Client, signer: Signer) -> list[int]:
    head, content = signer.post(BODY, "Expect: 100-continue").split(b"\r\n\r\n", 1)
    return [(await client.ask(head + b"\r\n\r\n")).status, (await client.ask(content)).status]


async def _continue_refused(client: Client, signer: Signer) -> list[int]:
    head = signer.post(BODY, "Expect: 100-continue", path="/in/nobody").split(b"\r\n\r\n", 1)[0]
    await client.send(head + b"\r\n\r\n")
    return await _until_it_closes(client, answers=1)


async def _still_sending(client: Client, signer: Signer) -> list[int]:
    """A refusal must reach a client that does not stop to listen."""
    await client.send(signer.post(BODY, length=900_000, path="/in/nobody"))
    status = (await client.reply()).status
    await client.send(b"x" * 30_000)
    assert await client.rest() == b""
    return [status]


async def _gone_in_the_body(client: Client, signer: Signer) -> list[int]:
    await client.send(signer.post(body(78))[:-5])
    client.abort()
    return []


async def _gone_before_the_answer(client: Client, signer: Signer) -> list[int]:
    await client.send(signer.post(BODY))
    client.abort()
    return []


async def _a_head_request(client: Client, signer: Signer) -> list[int]:
    await client.send(HEALTH.replace(b"GET", b"HEAD"))
    first = (await client.reply(is_head=True)).status
    return [first, (await client.ask(HEALTH)).status]


async def _silence(client: Client, signer: Signer) -> list[int]:
    client.half_close()
    return await _until_it_closes(client, answers=0)


CONVERSATIONS: dict[str, tuple[Talk, list[int]]] = {
    "a head cut short": (_half_closed(lambda signer: signer.post(BODY)[:60]), [400]),
    "a head cut at its last byte": (_half_closed(lambda signer: signer.post(b"", length=0)[:-1]), [400]),
    "a body cut short": (_half_closed(lambda signer: signer.post(BODY)[:-10]), [400]),
    "a body that never comes": (_half_closed(lambda signer: signer.post(BODY)[: -len(BODY)]), [400]),
    "chunks without their end": (_half_closed(lambda signer: signer.chunked(BODY, in_chunks(BODY)[:-5])), [400]),
    "chunks without their last line": (_half_closed(lambda signer: signer.chunked(BODY, in_chunks(BODY)[:-2])), [400]),
    "half-closed after the whole request": (_half_closed(lambda signer: signer.post(BODY)), [200]),
    "half-closed after whole chunks": (_half_closed(lambda signer: signer.chunked(BODY, in_chunks(BODY))), [200]),
    "half-closed without a word": (_silence, []),
    "byte by byte": (_dribbled(1), [200]),
    "in pieces of 11": (_dribbled(11), [200]),
    "five requests at once": (
        _pipelined(lambda signer: signer.post(BODY) + HEALTH + signer.post(BODY) * 2 + HEALTH, answers=5),
        [200] * 5,
    ),
    "refusals among requests": (
        _half_closed(
            lambda signer: signer.post(BODY) + signer.post(BODY, secret="no") + signer.post(BODY),
            answers=2,
        ),
        [200, 401],
    ),
    "nonsense behind a request": (_half_closed(lambda signer: signer.post(BODY) + b"?" * 50, answers=2), [200, 400]),
    "a request behind nonsense": (_half_closed(lambda signer: b"?\r\n\r\n" + signer.post(body(79))), [400]),
    "a request behind one that is smuggled": (
        _half_closed(lambda signer: signer.post(body(79), "Transfer-Encoding: chunked") + signer.post(body(79))),
        [400],
    ),
    "more body than announced": (
        _half_closed(lambda signer: signer.post(BODY) + b"and more\r\n\r\n", answers=2),
        [200, 400],
    ),
    "continue, then the body": (_continue_then_body, [100, 200]),
    "continue to nobody": (_continue_refused, [404]),
    "a refusal while still sending": (_still_sending, [404]),
    "gone in the middle of the body": (_gone_in_the_body, []),
    "gone before the answer": (_gone_before_the_answer, []),
    "HEAD has no body": (_a_head_request, [200, 200]),
}
