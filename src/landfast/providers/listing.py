"""How a provider lists its own events, so that those can be found that never arrived.

    [sources.acme.listing]
    url = "https://api.acme.example/events?from={since}&limit=100"
    credential = "env:ACME_API_KEY"
    items = "data"                         # the field of the answer that holds the list
    next = "cursor={next_cursor}"          # the field that leads to the next page
    time = "created_at"                    # the field of an item that says when it happened

A field is written with dots, `data.object.id`. In braces, a field of what is being read stands for its value.

next = "link"                       the Link header of the answer, rel="next"
next = "url:links.next"             an address in the answer
next = "cursor={next_cursor}"       a parameter, and the field of the answer that it is taken from
next = "starting_after={last.id}"   the same, from the last item; `more` is the field that says whether there is one
next = "page={page}"                2, 3, 4, ... until a page is empty
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from typing import Any
from urllib.parse import urlsplit

from landfast.domain.errors import ConfigError

DAY_SECONDS = 86_400.0

_BRACES = re.compile(r"\{([^{}]*)\}")
_is_way_on = re.compile(r"link|url:.+|[^={}]+=\{[^{}]+\}").fullmatch
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    url: str
    """The first page. `{since}` is where to begin, as ISO time, `{since_unix}` as seconds; the others are `options`."""
    credential: str = field(default="", repr=False)
    """`env:NAME` or `file:PATH`, as a secret is written."""
    header: str = "Authorization: Bearer {credential}"
    """What proves to the provider who asks."""
    items: str = ""
    """Empty where the answer is the list."""
    next: str = "link"
    more: str = ""
    """A field of the answer: there is another page while it is true."""
    time: str = ""
    """A field of an item: without it, items of any age are compared."""
    newest_first: bool = False
    """Whether a page that is too old is followed by older ones only."""
    detail: str = ""
    """The address of one item, where the list does not hold all of it."""
    body: str = ""
    """The field that holds what would have been sent, of the item or of its detail; empty for all of it."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers that would have been sent, with fields of the item in braces."""
    sent_headers: str = ""
    """A field of the detail that holds the headers as they were sent: with the signature among them."""
    same_header: str = ""
    """A header that every delivery has, by which an item is known where its key cannot be told from the list."""
    same_as: str = ""
    """The field of an item that stands in that header."""
    types: tuple[str, ...] = ()
    """Which types are wanted, `*` for any text; those that handlers take, unless it is set."""
    accept: str = "application/json"
    kept: float = 0.0
    """Seconds for which the provider lists its events; 0 where nobody knows."""
    options: Mapping[str, str] = field(default_factory=dict)
    """What the address needs besides: `repository` and `hook` of GitHub's."""

    @property
    def bounds_by_url(self) -> bool:
        """Whether the provider itself leaves out what is older."""
        return "{since" in self.url


STRIPE = Listing(
    url="https://api.stripe.com/v1/events?limit=100&created[gte]={since_unix}",
    items="data",
    next="starting_after={last.id}",
    more="has_more",
    time="created",
    newest_first=True,
    kept=30 * DAY_SECONDS,
)
GITHUB = Listing(
    url="https://api.github.com/{hook}/deliveries?per_page=100",
    next="link",
    time="delivered_at",
    newest_first=True,
    detail="https://api.github.com/{hook}/deliveries/{id}",
    body="request.payload",
    sent_headers="request.headers",
    same_header="x-github-delivery",
    same_as="guid",
    accept="application/vnd.github+json",
    kept=3 * DAY_SECONDS,
)
KNOWN: Mapping[str, Listing] = {"stripe": STRIPE, "github": GITHUB}
"""By the name of the provider. Shopify has no list of what it sent: docs/howto/reconcile.md says what can be done."""


def listing_of(source: str, provider: str, table: Mapping[str, Any]) -> Listing:
    """What a source's table describes, on top of what is known of its provider; ConfigError names the field."""
    where = f"source {source}: listing"
    known = KNOWN.get(provider)
    names = {each.name for each in fields(Listing)} - {"options"}
    given = {key: _value(where, key, value) for key, value in table.items() if key in names}
    base = known or Listing(url="")
    options = {key: str(value) for key, value in table.items() if key not in names}
    made = replace(base, **given, options=options)
    if not made.url:
        raise ConfigError(f'{where}: url is missing; write where {provider} lists its events, url = "https://..."')
    _check_address(where, "url", made.url)
    if made.detail:
        _check_address(where, "detail", made.detail)
    _check_options(where, made, names)
    if not made.credential:
        example = f'credential = "env:{source.upper()}_API_KEY"'
        raise ConfigError(f"{where}: credential is missing; name it, such as {example}")
    if "{credential}" not in made.header or ":" not in made.header:
        example = 'header = "Authorization: Bearer {credential}"'
        raise ConfigError(f"{where}: header must hold the credential, as in {example}")
    if not _is_way_on(made.next):
        raise ConfigError(f"{where}: next is {made.next!r}; it is link, url:FIELD, or PARAMETER={{FIELD}}")
    return made


def _value(where: str, key: str, value: Any) -> Any:
    wanted: Mapping[str, tuple[type, str]] = {
        "newest_first": (bool, "true or false"),
        "kept": (int, "a number of seconds"),
        "types": (list, 'a list, such as ["invoice.*"]'),
        "headers": (dict, 'a table, such as { X-Event = "{event}" }'),
    }
    kind, said = wanted.get(key, (str, "a string"))
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ConfigError(f"{where}: {key} must be {said}")
    if isinstance(value, list):
        return tuple(str(each) for each in value)
    return {str(name): str(each) for name, each in value.items()} if isinstance(value, dict) else value


def _check_options(where: str, made: Listing, names: set[str]) -> None:
    """What the addresses need must be there, and what is there must be needed."""
    needed = {name for name in _BRACES.findall(made.url) if name not in {"since", "since_unix"}}
    for name in sorted(needed - made.options.keys()):
        example = ' = "repos/OWNER/NAME/hooks/ID", or "orgs/NAME/hooks/ID"' if name == "hook" else ' = "..."'
        raise ConfigError(f"{where}: {name} is missing; write {name}{example}")
    for name in made.options.keys() - needed:
        near = get_close_matches(name, names | needed, n=1, cutoff=0.6)
        hint = f"; did you mean {near[0]!r}?" if near else f"; the keys are {', '.join(sorted(names | needed))}"
        raise ConfigError(f"{where}: there is no key {name!r}{hint}")


def _check_address(where: str, key: str, address: str) -> None:
    if "{credential}" in address:
        raise ConfigError(f"{where}: {key} must not hold the credential: addresses are logged; put it into header")
    if not _is_safe(_BRACES.sub("0", address)):
        raise ConfigError(f'{where}: {key} must be an address with https, such as "https://api.example.com/events"')


def _is_safe(address: str) -> bool:
    try:
        parts = urlsplit(address)
        has_place = bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets that are no IPv6 address, a port that is no number
        return False
    return has_place and (parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK))
