"""Which keys there are, what each is for and what it takes. docs/reference/settings.md is drawn from it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from landfast.config.key import Key

PRESETS = ("low-volume", "high-volume", "critical")
SAME_KEY = ("duplicate", "hold")
SAME_PROOF = ("hold", "take")
UNSIGNED_TYPE = ("hold", "trust")
UNHANDLED = ("keep", "done", "dead")
LOG = ("text", "json")
HANDLER_KEYS = ("attempts", "backoff", "deadline", "isolation", "group", "ordered", "on_dead", "uses")
"""What belongs to a handler, and so to the code."""

RETENTION_KEYS = ("bodies", "dead", "unhandled", "memory")
"""What `[retention]` and `[sources.NAME.retention]` take: a number of hours, days or weeks, or for ever."""


KEYS: Mapping[str, Key] = MappingProxyType(
    {
        "store": Key(
            str,
            '"sqlite:landfast.db"',
            "The inbox's database, for what came in: `sqlite:PATH` or `postgresql://...`.",
            default="`landfast.db` beside landfast.toml",
        ),
        "ledger": Key(
            str,
            '"sqlite:shop.db"',
            "The database that your handlers write to: receipts and effects are kept beside your own tables."
            " `sqlite:PATH`, `postgresql://...`, `mysql+aiomysql://...`, or `django:ALIAS`.",
            default="the same database on PostgreSQL, `landfast-ledger.db` beside `store` on SQLite",
        ),
        "app": Key(
            str,
            '"handlers:inbox"',
            "Where your Inbox is, as MODULE:NAME or FILE.py:NAME. Commands read it where `--app` does not say.",
            default="none: sources of landfast.toml, and no handlers",
        ),
        "host": Key(str, '"0.0.0.0"', "The address that intakes listen on."),
        "port": Key(int, "8420", "The port that intakes listen on; 0 for any that is free.", 0, 65535),
        "metrics_port": Key(
            int,
            "8422",
            "Answer `GET /metrics`, `/health` and `/ready` on this port"
            " ([metrics, traces and logs](../howto/metrics.md)).",
            1,
            65535,
        ),
        "metrics_host": Key(
            str,
            '"0.0.0.0"',
            "The address that metrics are told on. They name your sources and handlers: let no stranger reach it.",
        ),
        "admin_port": Key(
            int,
            "8421",
            "The port of the admin API and its pages ([how](../howto/admin-api.md)); 0 for none.",
            0,
            65535,
            default="8421, or none where that port is taken",
        ),
        "admin_host": Key(
            str,
            '"10.0.0.5"',
            "The address that the admin API listens on. Beyond the loopback it needs a token.",
        ),
        "log": Key(str, '"json"', "How the log is written: `text`, or one JSON object a line.", one_of=LOG),
        "redact": Key(
            list,
            '["iban", "customer.email"]',
            "Fields that are shown as `[redacted]` in logs, traces and commands, besides the usual ones"
            " ([which](../howto/metrics.md#what-is-not-shown)). What is stored stays as it is.",
        ),
        "intakes": Key(int, "2", "How many processes take webhooks in.", 1, 64),
        "workers": Key(int, "1", "How many processes run handlers; 0 for none here. A SQLite ledger takes one.", 0, 64),
        "concurrency": Key(
            int,
            "16",
            "How many events one worker process runs at the same time. A SQLite ledger takes one.",
            1,
            256,
            default="16 on PostgreSQL, 1 on SQLite",
        ),
        "lease": Key(
            float,
            "30",
            "Seconds until a worker that says nothing is taken for dead and its events are claimed again.",
            1,
            3600,
        ),
        "preset": Key(
            str,
            '"critical"',
            "Which layers there are; each of their keys can still be set by itself ([layers](../howto/layers.md)).",
            one_of=PRESETS,
            default='none, which is the same as `"low-volume"`',
        ),
        "redis": Key(
            str,
            '"redis://127.0.0.1:6379/0"',
            "A Redis or Valkey through which all intakes share what they have seen. It only makes duplicates cheaper.",
        ),
        "journal": Key(
            str,
            '"nats://127.0.0.1:4222"',
            "A JetStream stream that takes deliveries in before the inbox does; drainers bring them there.",
        ),
        "drainers": Key(int, "1", "How many processes bring the journal into the inbox.", 1, 64),
        "spool": Key(
            str,
            '"/var/lib/landfast/spool"',
            "A folder on a disk that takes deliveries in while the inbox, or the journal, cannot.",
            default='none; `landfast-spool` beside landfast.toml with `preset = "critical"` and no journal',
        ),
        "spool_limit": Key(
            int,
            "1073741824",
            "Bytes that the spool may hold: at 2 KB an event, half a million of them.",
            1024 * 1024,
            2**40,
        ),
        "spool_anywhere": Key(
            bool,
            "true",
            "Take a spool in memory or in a container's own layer, too: what it acknowledged is lost with the machine.",
        ),
        "ballast": Key(
            int,
            "67108864",
            "Bytes of a file beside a SQLite inbox, or of a table in PostgreSQL, that is removed when the disk is full:"
            " to delete takes room, too ([a full disk](../howto/full-disk.md)). 0 for none.",
            0,
            2**40,
        ),
        "retention": Key(
            dict,
            '{ bodies = "30d", dead = "365d" }',
            "How long things are kept: `bodies`, `dead`, `unhandled` and `memory` ([how long](../howto/retention.md)).",
            default='`{ bodies = "90d", dead = "365d", unhandled = "90d", memory = "35d" }`',
        ),
        "seal": Key(
            str,
            '"env:LANDFAST_MASTER_KEY"',
            "Where the master key is: `env:NAME` or `file:PATH`. Then what is stored of events is encrypted"
            " ([seal and erase](../howto/erase.md)).",
        ),
        "seal_old": Key(
            str,
            '"env:LANDFAST_OLD_MASTER_KEY"',
            "Where the master key before it is, until `landfast seal rotate` has run. Alone, it only opens.",
        ),
        "https_only": Key(bool, "true", "Answer 403 to what came over plain HTTP."),
        "trusted_proxies": Key(
            list,
            '["10.0.0.0/8"]',
            "Addresses and networks whose X-Forwarded-For and X-Forwarded-Proto are believed.",
        ),
    }
)
SOURCE_KEYS: Mapping[str, Key] = MappingProxyType(
    {
        "provider": Key(
            str,
            '"stripe"',
            "How the sender signs and names what it sends: one of [the catalogue](providers.md), one of your own"
            " `[providers.NAME]`, or `generic`.",
            default="needed",
        ),
        "secrets": Key(
            list,
            '["env:NAME"]',
            "What the sender's proof is checked with: each `env:NAME`, `file:PATH`, the secret itself, or a table."
            " Any that is active counts. A variable that is not set is looked for in `.env` beside the settings.",
            default="needed",
        ),
        "tolerance": Key(  # at most a day: beyond it a captured request replays at leisure
            float,
            "300",
            "Seconds that a signed time may be away from our clock.",
            1,
            86400,
            default="what suits the provider, 300 for most",
        ),
        "dedup": Key(
            str,
            '"body"',
            "What makes two deliveries one event, if not what the provider's page says"
            " ([the rules](describing-a-provider.md#what-makes-two-deliveries-one-event)).",
            default="the provider's own id of the event",
        ),
        "ordered_by": Key(
            str, '"data.object.id"', "What an event is about: a path, or `header:NAME` ([order](../howto/order.md))."
        ),
        "dedup_key": Key(
            str,
            '"any long text of your own"',
            'The key of the HMAC, where `dedup = "hmac:..."`. Changing it makes new events of known ones.',
        ),
        "body_limit": Key(  # at most the whole of intake's in-flight budget
            int,
            "1048576",
            "Bytes that a body may have; 413 beyond it.",
            1,
            64 * 1024 * 1024,
            default="what suits the provider, 1048576 for most",
        ),
        "public_url": Key(
            str,
            '"https://hooks.example.com/in/twilio"',
            "The whole address that the sender was given. Some senders sign it; their pages say so.",
        ),
        "allow_short_secret": Key(bool, "true", "Take a secret that is too short to be safe. For tests."),
        "confirm_subscription": Key(
            bool, "true", "Open the address in a sender's handshake (Amazon SNS) without asking an operator."
        ),
        "same_key": Key(
            str,
            '"hold"',
            "What another body under a known key is: a `duplicate`, or an event to `hold` for an operator.",
            one_of=SAME_KEY,
            default='`"hold"` with `preset = "critical"` and a sender whose bodies never change, else `"duplicate"`',
        ),
        "same_proof": Key(
            str,
            '"take"',
            "What another body under a known proof is, where proofs bind no body: an event to `hold`, or to `take`.",
            one_of=SAME_PROOF,
        ),
        "unsigned_type": Key(
            str,
            '"hold"',
            "What a known body under another type is, where types are not signed: an event to `hold`, or to `trust`.",
            one_of=UNSIGNED_TYPE,
            default="what the provider's page says",
        ),
        "rate": Key(
            float, "100", "Verified deliveries a second that one intake process takes; 429 beyond it.", 0.01, 1_000_000
        ),
        "key_rate": Key(
            float,
            "10",
            "The same for deliveries of one event. A duplicate beyond it gets 429 and comes again.",
            0.01,
            1_000_000,
        ),
        "event_rate": Key(
            float,
            "1000",
            "Verified events a second that one intake process takes: one delivery may bring a thousand.",
            0.01,
            1_000_000,
        ),
        "byte_rate": Key(float, "1048576", "Bytes of verified bodies a second that one intake process takes.", 1, 1e12),
        "allow_from": Key(
            list, '["192.0.2.0/24"]', "Addresses and networks that may send; 403 for all others.", default="everybody"
        ),
        "unhandled": Key(
            str,
            '"done"',
            "What becomes of an event that no handler takes: `keep` it for a later deploy, or end it as `done` or"
            " `dead` ([unhandled](../howto/unhandled.md)).",
            one_of=UNHANDLED,
        ),
        "ignore": Key(
            list,
            '["invoice.*"]',
            "Types that nobody wants: done at once, whatever handlers there are. `*` is any text.",
        ),
        "retention": Key(
            dict,
            '{ bodies = "7d" }',
            "The same for what this source sends, where it differs from `[retention]`.",
            default="as `[retention]` says",
        ),
        "listing": Key(
            dict,
            '{ credential = "env:STRIPE_API_KEY" }',
            "Where the provider lists its own events, for what never arrived ([reconcile](../howto/reconcile.md)).",
        ),
        "reconcile": Key(
            str,
            '"6h"',
            "How often a worker compares the inbox with that list, and takes in what never arrived: `30m`, `6h`, `1d`.",
            default="never by itself",
        ),
        "concurrency": Key(  # at most as many as a worker can have hands
            int, "4", "How many of its events may run at the same time in one worker process.", 1, 256
        ),
        "owner": Key(
            str, '"#payments on Slack"', "Who looks after it; `landfast sources page` and its readers want to know."
        ),
    }
)
