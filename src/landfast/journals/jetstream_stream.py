"""The stream: what its settings must be for a 2xx to mean durable, made so where it is missing, refused otherwise.

JetStream acknowledges a message before it is on disk. That is enough where three servers have it, and where the one
that has it fsyncs first (`sync_interval: always`). A client can ask for the replicas. It cannot ask a server how it
syncs: only its monitoring port and its system account say so, and an application has neither. So there the operator
says it, in the address.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from landfast import telemetry
from landfast.domain.errors import ConfigError, JournalUnavailableError
from landfast.domain.ids import InboxId
from landfast.journals.jetstream_address import BrokerAddress
from landfast.journals.jetstream_link import HEADERS_BYTES, Link

PARTITIONS = 8
"""Lanes are spread over so many subjects, each with a consumer of its own: more drainers than that would not make one
inbox faster, and on a cluster each consumer is a group of servers that elects its leader."""

REPLICAS = 3
"""One may be lost with its disk, and the two others still agree."""

DUPLICATE_WINDOW_SECONDS = 120
"""Seconds in which the stream knows a message again: the first retries of a sender. What comes later the inbox knows;
a longer window would cost the broker memory for each message in it."""

ASIDE = "aside"
"""The last word of the subject under which the stream keeps what the inbox refuses. No consumer asks for it."""

FOREIGN = "foreign"
"""The same for what no intake of this inbox wrote."""

OWNER = "landfast_inbox"
"""Under this name the stream's metadata hold the inbox that its messages are for."""

NANOSECONDS = 1_000_000_000
NOT_FOUND, IN_USE, NO_CLUSTER, TOO_FEW_SERVERS = 10059, 10058, 10074, 10005
"""The codes of JetStream's errors that Landfast tells apart."""


@dataclass(frozen=True, slots=True)
class Found:
    """The stream as it is."""

    config: Mapping[str, Any]
    waiting: Mapping[int, int]
    """Messages by partition, of those that have any."""
    aside: int
    foreign: int
    """Messages that no intake of this inbox wrote, as far as a drainer has looked."""

    @property
    def backlog(self) -> int:
        return sum(self.waiting.values())

    def room(self, max_payload: int) -> int:
        """Bytes of one body that it takes, on a server with that limit."""
        largest = max(0, int(self.config.get("max_msg_size", 0)))  # 0 for as many as the server does
        return min(max_payload, largest or max_payload) - HEADERS_BYTES


async def prepare(link: Link, inbox: InboxId, *, create: bool, to_append: bool = True) -> Found:
    """The stream, once it is fit to be trusted. ConfigError when it is not, JournalUnavailableError when it is missing
    and may not be created: who deleted it must hear of it, and a start is the time to make a new one. Whoever only
    takes from it need not trust it: what is still in it is safer elsewhere."""
    found = await look(link)
    if found is None and create:
        # Crash before it: the next start makes it. After it: the next start finds it.
        await _create(link, inbox)
        found = await look(link)
    if found is None:
        raise JournalUnavailableError(f"journal: there is no stream {link.address.stream} any more")
    for problem in (problems if to_append else strangers)(found.config, link.address, inbox):
        raise ConfigError(f"journal: {problem}")
    if OWNER not in found.config.get("metadata", {}):
        await _adopt(link, inbox, found.config)
    return found


async def look(link: Link) -> Found | None:
    """None when there is no such stream."""
    subject = link.address.subject("")
    answer = await link.ask(f"STREAM.INFO.{link.address.stream}", {"subjects_filter": f"{subject}*"})
    if error := answer.get("error"):
        if error.get("err_code") == NOT_FOUND:
            return None
        raise JournalUnavailableError(f"journal: stream {link.address.stream}: {error.get('description')}")
    counts = {name.removeprefix(subject): count for name, count in (answer["state"].get("subjects") or {}).items()}
    waiting = {partition: counts[str(partition)] for partition in range(PARTITIONS) if str(partition) in counts}
    aside = counts.get(ASIDE, 0)
    # What lies under any other subject was published by somebody else, and no consumer takes it.
    return Found(answer["config"], waiting, aside, foreign=sum(counts.values()) - sum(waiting.values()) - aside)


class Rule(NamedTuple):
    setting: str
    default: Any
    """What the server means when it says nothing of it."""
    allowed: tuple[Any, ...]
    otherwise: str
    """What the stream does then, and what it must be set to."""


RULES = (
    Rule("storage", "", ("file",), "is kept in memory, which a restart empties; storage must be file"),
    Rule("discard", "old", ("new",), "drops its oldest messages when it is full; discard must be new"),
    Rule(
        "retention", "", ("workqueue",), "does not keep each message until it is drained; retention must be workqueue"
    ),
    Rule("max_age", 0, (0,), "drops messages by age, drained or not; max_age must be 0"),
    Rule("max_msgs_per_subject", -1, (-1, 0), "drops the oldest of a subject; max_msgs_per_subject must be -1"),
    Rule("no_ack", False, (False,), "acknowledges nothing; no_ack must be false"),
    Rule("persist_mode", "", ("", "default"), "acknowledges before it writes; persist_mode must be default"),
    Rule(
        "subject_transform", None, (None,), "keeps messages under subjects that nobody drains; remove subject_transform"
    ),
)


def problems(config: Mapping[str, Any], address: BrokerAddress, inbox: InboxId | None = None) -> Iterator[str]:
    """A sentence for each setting under which an acknowledged delivery could be lost."""
    stream = f"the stream {address.stream}"
    for rule in RULES:
        if config.get(rule.setting, rule.default) not in rule.allowed:
            yield f"{stream} {rule.otherwise}: correct it, or delete it when it is empty, and Landfast makes it anew"
    if address.subject("*") not in config.get("subjects", ()):
        yield f"{stream} does not take {address.subject('*')}; add it to its subjects, or name another stream"
    if config.get("num_replicas", 1) < REPLICAS and not address.is_synced:
        yield (
            f"{stream} has fewer than {REPLICAS} replicas, and its server may acknowledge what it has not synced;"
            f" give it {REPLICAS} replicas on a cluster, or run the server with jetstream {{ sync_interval: always }}"
            " and say so with ?sync=always behind the address"
        )
    yield from strangers(config, address, inbox)


def strangers(config: Mapping[str, Any], address: BrokerAddress, inbox: InboxId | None) -> Iterator[str]:
    """A sentence if it is the stream of another inbox."""
    owner = config.get("metadata", {}).get(OWNER)
    if inbox is not None and owner not in (None, inbox.hex()):
        yield (
            f"the stream {address.stream} belongs to another inbox ({owner[:8]}...); name another behind the host, such"
            f" as nats://host:4222/{address.stream}-2, or correct store"
        )


def wanted(address: BrokerAddress, inbox: InboxId, *, replicas: int) -> dict[str, Any]:
    return {
        "name": address.stream,
        "subjects": [address.subject("*")],
        "storage": "file",
        # A message stays until a drainer acknowledges it, which it does after the inbox's COMMIT; then it goes, and
        # what is there is what is left to do. Full is full: the sender hears it, and nothing is dropped.
        "retention": "workqueue",
        "discard": "new",
        "num_replicas": replicas,
        "duplicate_window": DUPLICATE_WINDOW_SECONDS * NANOSECONDS,
        "metadata": {OWNER: inbox.hex()},
    }


async def _create(link: Link, inbox: InboxId) -> None:
    error = await _made(link, inbox, replicas=REPLICAS)
    if error in (NO_CLUSTER, TOO_FEW_SERVERS) and link.address.is_synced:
        error = await _made(link, inbox, replicas=1)
    if error == NO_CLUSTER:
        # Not made and then refused: a stream that nobody may trust must not be left behind.
        for problem in problems(wanted(link.address, inbox, replicas=1), link.address):
            raise ConfigError(f"journal: {problem}")
    if error not in (None, IN_USE):  # in use: another process of ours was faster
        raise JournalUnavailableError(f"journal: the stream {link.address.stream} cannot be made now (error {error})")


async def _made(link: Link, inbox: InboxId, *, replicas: int) -> int | None:
    """The error's code, if it was not."""
    settings = wanted(link.address, inbox, replicas=replicas)
    error: dict[str, Any] | None = (await link.ask(f"STREAM.CREATE.{link.address.stream}", settings)).get("error")
    if error is None:
        telemetry.info("journal_stream_made", stream=link.address.stream, replicas=replicas)
        return None
    return int(error.get("err_code", 0))


async def _adopt(link: Link, inbox: InboxId, config: Mapping[str, Any]) -> None:
    """The operator made it: write into it whose it is. Two inboxes on one stream would take each other's messages."""
    # Crash before it: the next start repeats it. After it: nothing is missing.
    named = {**config, "metadata": {**config.get("metadata", {}), OWNER: inbox.hex()}}
    error = (await link.ask(f"STREAM.UPDATE.{link.address.stream}", named)).get("error")
    if error is not None:
        raise JournalUnavailableError(f"journal: cannot write into its stream: {error.get('description')}")
