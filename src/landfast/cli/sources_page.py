"""`landfast sources page`: the page of a source, drawn from the settings, the code and the inbox."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

from landfast.app import Inbox
from landfast.app.sources import profile_of
from landfast.cli.options import app_option, find_inbox, run, without_app
from landfast.cli.output import duration, safe, say
from landfast.config import SourceSettings, nearest
from landfast.domain.errors import StoreError, UserError
from landfast.operations.source_page import HandlerFacts, SourceFacts, SourceFlow, flow_of
from landfast.operations.source_page import page as drawn
from landfast.processing.handlers.registry import Handler

SIGNED = {
    "yes": "the whole body",
    "checksum": "a checksum of the body",
    "no": "**not the body**: whoever knows the secret's proof can send any",
}


@click.command(epilog="Example: landfast sources page stripe --out docs/stripe.md")
@click.argument("source")
@click.option("--out", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="Write it there.")
@app_option
def page(*, source: str, out: Path | None, app: str | None) -> int:
    """Draw the page of a source in Markdown: provider, owner, what is signed, handlers, types seen, rates, and the
    steps of a replay. For whoever is called at night and has never seen it."""
    inbox = find_inbox(app)
    settings = inbox.sources.get(source)
    if settings is None:
        hint = nearest(source, inbox.sources) or f"; there are: {', '.join(inbox.sources) or 'none'}"
        raise UserError(f"sources page: there is no source {source!r}{hint}{without_app(app)}")
    facts = facts_of(inbox, settings)
    text = drawn(facts, run(_flow(inbox, facts)))
    if out is None:
        click.echo(text, nl=False)
        return 0
    try:
        out.write_text(text, "utf-8")
    except OSError as error:
        raise UserError(f"sources page: {out} cannot be written: {error.strerror}; give another --out") from None
    say(f"wrote {safe(str(out))}")
    return 0


def facts_of(inbox: Inbox, settings: SourceSettings) -> SourceFacts:
    profile, now = profile_of(settings), inbox.clock.now().timestamp()
    tolerance = settings.tolerance or profile.tolerance
    window = profile.redelivery.window
    return SourceFacts(
        name=settings.name,
        provider=profile.name,
        title=profile.title or profile.name,
        owner=settings.owner,
        signed=SIGNED[profile.coverage],
        identity=profile.key,
        path=settings.path,
        public_url=settings.public_url,
        tolerance="any time" if math.isinf(tolerance) else duration(tolerance),
        retries="unknown" if window is None else duration(window) if window else "never: it sends once",
        secrets=[_secret(secret, number, now) for number, secret in enumerate(settings.secrets, start=1)],
        handlers=[_handler(one) for one in inbox.registry.handlers if one.source == settings.name],
    )


def _secret(secret: Any, number: int, now: float) -> str:
    state = "future" if now < secret.start else "retired" if now >= secret.end else "active"
    place = secret.value if secret.value.startswith(("env:", "file:")) else "in the settings themselves"
    return f"`{secret.name or number}` {state}, {place}"


def _handler(handler: Handler) -> HandlerFacts:
    function = handler.function
    at_most = f", {handler.attempts} times at most" if handler.attempts else ""
    return HandlerFacts(
        name=handler.name,
        pattern=handler.pattern,
        function=f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', handler.name)}",
        retries=f"{duration(handler.backoff.total)}{at_most}",
        deadline=handler.deadline,
    )


async def _flow(inbox: Inbox, facts: SourceFacts) -> SourceFlow | None:
    try:
        async with inbox.archive() as archive:
            handlers = [handler.name for handler in facts.handlers]
            return await flow_of(archive, facts.name, handlers, now=inbox.clock.now())
    except StoreError:
        return None
