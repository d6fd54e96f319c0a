"""Which keys `[alerts]` and its sinks have, and what each is for. The page of settings is drawn from it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from landfast.config.key import Key

SINK_KINDS = ("slack", "webhook", "email", "pagerduty")

ALERT_KEYS: Mapping[str, Key] = MappingProxyType(
    {
        "enabled": Key(bool, "false", "Whether Landfast looks for alerts at all."),
        "off": Key(
            list,
            '["duplicates-gone"]',
            "Alerts that you do not want, by name ([all of them](../howto/be-told-in-time.md#what-is-looked-for)).",
        ),
        "every": Key(float, "15", "Seconds between two looks.", 1, 3600),
        "quiet": Key(float, "300", "Seconds without a finding until an alert is resolved.", 0, 86_400),
        "repeat": Key(
            float, "3600", "Seconds until it is told again; each time twice as long, a day at most.", 60, 86_400
        ),
        "runbooks": Key(
            str,
            '"https://wiki.example.com/landfast"',
            "The address below which your runbooks are; alerts then link to ADDRESS/NAME.",
            default="the pages in `docs/runbooks`",
        ),
        "dead_letters": Key(
            int, "5", "Dead letters of one source in 15 minutes; or twice as many in an hour.", 1, 10**9
        ),
        "failing_share": Key(float, "0.5", "Share of a handler's attempts in five minutes that fail.", 0.01, 1),
        "failing_at_least": Key(int, "10", "Failed attempts of a handler in five minutes.", 1, 10**9),
        "duplicates_at_least": Key(int, "200", "Duplicates of one source in 15 minutes.", 1, 10**9),
        "volume_at_least": Key(int, "100", "Events in 15 minutes: fewer are never too many.", 1, 10**9),
        "volume_times": Key(
            float, "4", "So many times the usual is too many, and the usual divided by it too few.", 1.5, 1000
        ),
        "silent_seconds": Key(
            float, "900", "A source that is silent for a shorter time is never reported.", 60, 86_400
        ),
        "waiting_seconds": Key(float, "300", "Seconds that a new event may wait for its first try.", 1, 86_400),
        "skew_seconds": Key(float, "30", "Seconds between a machine's clock and the database's.", 1, 86_400),
        "unverified_at_least": Key(int, "300", "Requests in five minutes that prove nothing.", 1, 10**9),
        "refusals_at_least": Key(
            int, "5", "Refusals of one source in five minutes without a single acceptance.", 1, 10**9
        ),
        "alive_seconds": Key(float, "60", "Seconds without a heartbeat until nobody is alive.", 10, 86_400),
        "disk_bytes": Key(int, "1073741824", "Bytes that must be free on each disk that Landfast writes to.", 0, 2**50),
    }
)

SINK_KEYS: Mapping[str, Key] = MappingProxyType(
    {
        "kind": Key(str, '"slack"', "What it is.", one_of=SINK_KINDS, default="needed"),
        "url": Key(
            str,
            '"env:SLACK_WEBHOOK_URL"',
            "The address that is called: `env:NAME`, `file:PATH` or the address itself. Of Slack it is the secret.",
            default="needed for `slack` and `webhook`; PagerDuty's own for `pagerduty`",
        ),
        "secret": Key(
            str,
            '"env:ALERTS_WEBHOOK_SECRET"',
            "What a `webhook` is signed with: `whsec_` and base64, by reference.",
            default="needed for `webhook`",
        ),
        "routing_key": Key(
            str,
            '"env:PAGERDUTY_ROUTING_KEY"',
            "The integration key of a service of PagerDuty's, by reference.",
            default="needed for `pagerduty`",
        ),
        "server": Key(
            str,
            '"smtps://mail.example.com:465"',
            "The mail server: `smtps://HOST:PORT`, or `smtp://HOST:PORT` with STARTTLS.",
            default="needed for `email`",
        ),
        "user": Key(str, '"alerts@example.com"', "The name that Landfast logs in with at the mail server."),
        "password": Key(str, '"env:SMTP_PASSWORD"', "The password for it, by reference."),
        "sender": Key(str, '"alerts@example.com"', "Who a mail is from.", default="needed for `email`"),
        "to": Key(list, '["oncall@example.com"]', "Who gets it.", default="needed for `email`"),
    }
)
NEEDED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "slack": ("url",),
        "webhook": ("url", "secret"),
        "pagerduty": ("routing_key",),
        "email": ("server", "sender", "to"),
    }
)
TAKEN: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "slack": ("kind", "url"),
        "webhook": ("kind", "url", "secret"),
        "pagerduty": ("kind", "routing_key", "url"),
        "email": ("kind", "server", "user", "password", "sender", "to"),
    }
)
