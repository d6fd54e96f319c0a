"""Why an event is where it is, in words. The word that a filter takes is there for whoever points at it."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from landfast.admin.pages.words import visible

WORDS: Mapping[str, str] = {
    "attempts_exhausted": "every attempt was used",
    "time_exhausted": "it was tried for as long as its handler says",
    "gave_up": "its handler gave up",
    "permanent": "to try again would not help",
    "crash_loop": "it ended its process again and again",
    "malformed_body": "its body cannot be read",
    "body_missing": "its body is gone",
    "not_opened": "its body is sealed and does not open",
    "no_handler": "no handler takes this type",
    "no_writes": "its handler wrote nothing",
    "superseded": "a newer event of its entity was done",
    "behind": "waits behind an earlier event of its entity",
    "operator": "an operator holds it",
    "infrastructure": "a database was away",
}

KINDS: Mapping[str, str] = {
    "source": "the source {} is paused",
    "handler": "the handler {} is paused",
    "dependency": "{} is paused",
    "breaker": "the breaker of {} is open",
    "lifecycle": "the lifecycle {} does not allow it yet",
}
"""Of a reason that names something: `handler:NAME`, `breaker:dependency:NAME`, `lifecycle:NAME:DIGITS`."""


def reason_words(reason: str) -> str:
    """A word that nobody wrote a sentence for is shown as it is."""
    kind, _, named = reason.partition(":")
    if not named or kind not in KINDS:
        return WORDS.get(reason, visible(reason))
    if kind == "breaker":
        named = named.removeprefix("dependency:").removeprefix("handler:")
    elif kind == "lifecycle":
        named = named.rpartition(":")[0] or named
    return KINDS[kind].format(visible(named))


def reason(word: str) -> Markup:
    return Markup('<span title="reason:{}">{}</span>').format(visible(word), reason_words(word))
