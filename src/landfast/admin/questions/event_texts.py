"""An event as text to take away: a signed request for a shell, and a test for pytest. Both have its exact bytes, so
they take the role that may see what is hidden."""

from __future__ import annotations

import base64
import shlex

from landfast.admin.desk import Desk
from landfast.admin.parameters import Answered
from landfast.admin.questions.event import EventAsked, found_event
from landfast.admin.questions.sources import source_named
from landfast.app.batch_of_one import body_alone
from landfast.app.sources import profile_of, source_of
from landfast.domain.errors import UnverifiedError, UserError
from landfast.domain.summary import EventRecord
from landfast.providers.request import Draft
from landfast.providers.signing import signed_request, without_signature
from landfast.recovery.saved_test import file_text, name_of_test
from landfast.recovery.stored_request import headers_of, must_have_body


class EventText(Answered):
    name: str
    """Of the file that it belongs in; empty where it is none."""
    text: str


async def curl(desk: Desk, asked: EventAsked) -> EventText:
    """Signed now, with the source's first secret that is active: valid for as long as the sender's signatures are."""
    record = await found_event(desk, asked.event)
    must_have_body(record, "curl")
    settings = desk.inbox.settings
    draft = _signed(desk, record, f"http://{settings.host}:{settings.port}")
    return EventText(name="", text=_command(draft))


async def saved_test(desk: Desk, asked: EventAsked) -> EventText:
    record = await found_event(desk, asked.event)
    must_have_body(record, "saved_test")
    profile = profile_of(source_named(desk, record.summary.source))
    text = file_text(record, body_alone(profile, record, "saved_test"))
    return EventText(name=f"{name_of_test(record)}.py", text=text)


def _signed(desk: Desk, record: EventRecord, base: str) -> Draft:
    event, source = record.summary, source_named(desk, record.summary.source)
    profile, now = profile_of(source), desk.now().timestamp()
    active = source_of(source, desk.inbox.settings).active(now)
    if not active:
        raise UserError(f"curl: no secret of {source.name} is active now; see landfast sources list")
    url = source.public_url or f"{base}{source.path}"
    body = body_alone(profile, record, "curl")
    kept = without_signature(profile, headers_of(record), active[0], now=now, id=event.key, url=url)
    try:
        return signed_request(profile, body, active[0], now=now, id=event.key, type=event.type, url=url, headers=kept)
    except (UnverifiedError, ValueError, LookupError) as error:
        raise UserError(f"curl: a request of {profile.name} cannot be signed here: {error}") from None


def _command(draft: Draft) -> str:
    """Bytes that no shell can quote go through base64."""
    try:
        text = draft.body.decode()
    except UnicodeDecodeError:
        text = "\0"
    is_plain = all(each.isprintable() or each in "\n\t" for each in text)
    before = "" if is_plain else f"echo {base64.b64encode(draft.body).decode()} | base64 -d | "
    data = f"--data-raw {shlex.quote(text)}" if is_plain else "--data-binary @-"
    headers = [f"-H {shlex.quote(f'{name}: {value}')}" for name, value in draft.headers.items()]
    return " \\\n  ".join([f"{before}curl -sS -X {draft.method} {shlex.quote(draft.url)}", *headers, data])
