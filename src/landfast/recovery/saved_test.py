"""An event as a test: a file for pytest that delivers its exact bytes to the handlers of the user's application."""

from __future__ import annotations

import re

from landfast.domain.summary import EventRecord
from landfast.domain.text import storable
from landfast.recovery.stored_request import headers_of

CHUNK_CHARACTERS = 96
"""Of a body in one line of the file."""

NAME_CHARACTERS = 80

APP = """


@pytest.fixture
def landfast_app() -> str:
    return {app!r}
"""

TEST = '''"""{title}

{history} Written by `landfast events save-test`; change it as you like.
The fixture `inbox` comes with Landfast. Your handlers write to a temporary database, signed with a secret of the test:
create the tables that they need in a fixture of your own.
"""

{imports}HEADERS = {{
{headers}
}}
BODY = (
{body}
){app}

def {name}(inbox: Any) -> None:
    told = inbox.deliver_body({source!r}, BODY, headers=HEADERS, sign=True, type={type!r}, id={key!r})
    assert told.status == 200
    inbox.drain()  # raises what a handler raises
    inbox.assert_handled_once()
'''


def file_text(record: EventRecord, body: bytes, *, app: str | None = None) -> str:
    """The text of the file. `body` is what is delivered: for an event that came in a batch, a batch of one."""
    event = record.summary
    came = f"{event.received_at:%Y-%m-%d %H:%M:%SZ}"
    imports = "from typing import Any\n\n" + ("import pytest\n\n" if app else "")
    return TEST.format(
        title=_quoted(f"{event.source} {event.type} {event.key}, as it came at {came}."),
        history=_quoted(_history(record)),
        imports=imports,
        headers="\n".join(f"    {name!r}: {value!r}," for name, value in headers_of(record).items()),
        body=_literal(body),
        app=APP.format(app=app) if app else "\n",
        name=name_of_test(record),
        source=event.source,
        type=event.type,
        key=event.key,
    )


def name_of_test(record: EventRecord) -> str:
    event = record.summary
    words = re.sub(r"[^0-9a-zA-Z]+", "_", f"{event.source} {event.type} {event.key}").strip("_").lower()
    return f"test_{words[:NAME_CHARACTERS].rstrip('_')}"


def _history(record: EventRecord) -> str:
    """What had become of it, without the message: that may hold more of the event than a test should quote."""
    event = record.summary
    failed = {attempt.error: attempt.handler for line in record.history for attempt in line.attempts if attempt.error}
    if failed:
        told = ", ".join(f"{error} in {handler}" for error, handler in failed.items())
        return f"It was {event.state} when it was saved, after {told}."
    return f"It was {event.state} when it was saved."


def _literal(body: bytes) -> str:
    """The bytes as Python writes them, in lines of a size that an editor shows."""
    chunks = [body[at : at + CHUNK_CHARACTERS] for at in range(0, len(body), CHUNK_CHARACTERS)] or [b""]
    return "\n".join(f"    {chunk!r}" for chunk in chunks)


def _quoted(text: str) -> str:
    """For a docstring: one line that can neither end it nor escape from it."""
    plain = "".join(each if each.isprintable() else "?" for each in storable(text))
    return plain.replace("\\", "/").replace('"""', "'''")
