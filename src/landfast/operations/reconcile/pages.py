"""The pages of a provider's list, one after the other, and the items on them with their exact bytes."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote, urlencode, urljoin, urlsplit, urlunsplit

import msgspec

from landfast.domain.errors import UserError
from landfast.operations.reconcile.client import Answer, Client
from landfast.providers.listing import Listing

_BRACES = re.compile(r"\{([^{}]*)\}")
_NEXT = re.compile(r'<([^<>]*)>[^,]*;\s*rel="?next"?', re.IGNORECASE)
_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_list = msgspec.json.Decoder(list[msgspec.Raw]).decode


class Page(NamedTuple):
    items: list[bytes]
    following: str | None
    """The address of the next one; None after the last."""


def first_url(listing: Listing, since: datetime) -> str:
    told = {
        **listing.options,
        "since": f"{since.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "since_unix": f"{since.timestamp():.0f}",
    }
    return filled(listing.url, told)


async def pages(client: Client, listing: Listing, start: str) -> AsyncIterator[Page]:
    """From that address on. UserError for an answer that is not what the listing describes."""
    url: str | None = start
    seen = {start}
    while url is not None:
        answer = await client.get(url)
        try:
            items = _items(answer.body, listing.items)
            url = _following(listing, answer, items, url)
        except _UNREADABLE as error:
            where = f"items = {listing.items!r}" if listing.items else "the answer"
            raise UserError(f"reconcile: the list cannot be read ({error}); check {where} of its listing") from None
        except ValueError:
            raise UserError("reconcile: the list leads to an address that is none; check next of its listing") from None
        if url is not None and url in seen:
            raise UserError("reconcile: the list leads back to a page that was read; check next of its listing")
        seen |= {url} if url else set()
        yield Page(items, url)


def is_readable(document: bytes) -> bool:
    """A list is read without looking into its items: a letter that is none, or a number without end, is found later."""
    try:
        msgspec.json.decode(document)
    except _UNREADABLE:
        return False
    return True


def part(document: bytes, path: str) -> bytes | None:
    """The exact bytes of a field; None where it is not there."""
    for name in path.split(".") if path else ():
        try:
            document = bytes(_object(document)[name])
        except (msgspec.MsgspecError, KeyError):
            return None
    return document


def value(document: bytes, path: str) -> Any:
    found = part(document, path)
    return None if found is None else msgspec.json.decode(found)


def filled(template: str, told: Mapping[str, str], item: bytes | None = None) -> str:
    """An address with its braces filled in: by what is told, or by a field of the item."""

    def fill(match: re.Match[str]) -> str:
        name = match[1]
        if name in told:
            return quote(told[name], safe="/:")
        found = None if item is None else value(item, name)
        return quote(str(found), safe="") if isinstance(found, str | int) else ""

    return _BRACES.sub(fill, template)


def _items(document: bytes, path: str) -> list[bytes]:
    """None where the field is not there, as some write an empty list. An answer of another kind is no empty list: what
    is on a page that nobody could read has not been compared."""
    for name in path.split(".") if path else ():
        fields = _object(document)
        if name not in fields:
            return []
        document = bytes(fields[name])
    return [bytes(item) for item in _list(document)]


def _following(listing: Listing, answer: Answer, items: list[bytes], url: str) -> str | None:
    if listing.more and value(answer.body, listing.more) is not True:
        return None
    if listing.next == "link":
        found = _NEXT.search(answer.headers.get("link", ""))
        return urljoin(url, found[1]) if found else None
    if listing.next.startswith("url:"):
        address = value(answer.body, listing.next.removeprefix("url:"))
        return urljoin(url, address) if isinstance(address, str) and address else None
    name, _, field = listing.next.partition("=")
    field = field.strip("{}")
    if field == "page":
        return _with(url, name, str(_page_of(url, name) + 1)) if items else None
    if field.startswith("last."):
        cursor = value(items[-1], field.removeprefix("last.")) if items else None
    else:
        cursor = value(answer.body, field)
    is_one = isinstance(cursor, str | int) and not isinstance(cursor, bool) and cursor != ""
    return _with(url, name, str(cursor)) if is_one else None


def _page_of(url: str, name: str) -> int:
    """By its own address, because a run may begin with any page; the first one need not say its number."""
    told = dict(parse_qsl(urlsplit(url).query)).get(name, "")
    return int(told) if told.isdecimal() else 1


def _with(url: str, name: str, text: str) -> str:
    parts = urlsplit(url)
    kept = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if pair[0] != name]
    return urlunsplit(parts._replace(query=urlencode([*kept, (name, text)])))
