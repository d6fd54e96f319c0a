"""The page of settings, drawn from `config/setting_keys.py`: what each is for, its default, variable and example."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any

from landfast.config import Settings, SourceSettings
from landfast.config.alert_keys import ALERT_KEYS, SINK_KEYS
from landfast.config.alerts import AlertSettings, SinkSettings
from landfast.config.dependencies import DEPENDENCY_KEYS
from landfast.config.forwards import FORWARD_KEYS, ForwardSettings
from landfast.config.key import Key
from landfast.config.oidc import OIDC_KEYS, OidcSettings
from landfast.config.setting_keys import KEYS, SOURCE_KEYS
from landfast.domain.dependency import Dependency

KINDS = {str: "text", int: "a whole number", float: "a number", list: "a list", bool: "true or false", dict: "a table"}

HEAD = """\
# Settings

They are read from `landfast.toml` in the current folder, then from `LANDFAST_*` in the environment, then from the
keywords of `Inbox(...)`; each overrides the one before. `LANDFAST_CONFIG` names another file. A key that does not
exist, a value that does not fit, and a `LANDFAST_*` variable that nobody reads are told in one sentence.

Paths in the file start at the file; those of the environment and the code start where the process runs. A list in the
environment is written with commas. `landfast doctor` says what it found, and in which file.

```toml
# landfast.toml
app = "handlers:inbox"
store = "postgresql://landfast@db.internal/landfast"

[sources.stripe]
provider = "stripe"
secrets = ["env:STRIPE_WEBHOOK_SECRET"]
```

## The installation

Above the first table of the file.
"""
SOURCES = """\
## A source

Under `[sources.NAME]`, or as keywords of `inbox.source(NAME, ...)`. NAME is the last part of the address,
`/in/NAME`. Some providers take more keys; [their pages](providers.md) name them. None of these has a variable: what
differs from machine to machine is in `secrets`.
"""
DEPENDENCIES = """\
## A dependency

Under `[dependencies.NAME]`, or as keywords of `inbox.dependency(NAME, ...)`. NAME stands in `uses` of a handler or an
effect, or is the name of a forward: [how](../howto/dependencies.md). None of these has a variable.
"""
FORWARDS = """\
## A forward

Each `[[forward]]` is a table with two brackets, or a call of `inbox.forward(NAME, ...)`:
[how](../howto/forward.md). References are `env:NAME` or `file:PATH`. None of these has a variable.
"""
ALERTS = """\
## Alerts

Under `[alerts]`, or as `Inbox(alerts={...})`. All have defaults that suit an inbox which nobody has configured;
[be told in time](../howto/be-told-in-time.md) says what is looked for. None of these has a variable.
"""
SINKS = """\
## A sink of alerts

Under `[alerts.sinks.NAME]`. Each kind takes the keys that it needs, and no others. References are `env:NAME` or
`file:PATH`, as a source's secrets are.
"""
OIDC = """\
## Sign in to the dashboard

Under `[admin.oidc]`: [how](../howto/admin-api.md#sign-in-at-an-identity-provider). None of these has a variable.
"""
SECRETS = """\
## A secret

An entry of `secrets` is a text, or a table:

```toml
[sources.stripe]
provider = "stripe"
secrets = [
    { value = "env:STRIPE_WEBHOOK_SECRET", name = "2026" },
    { value = "file:/run/secrets/stripe-old", name = "2025", until = 2026-12-31T00:00:00Z },
]
```

| Key | |
|---|---|
| `value` | `env:NAME`, `file:PATH` or the secret itself; needed |
| `name` | what the log calls it; its number in the list, unless it is set |
| `from`, `until` | times with their zone, between which it counts; always, unless they are set |

[How to rotate secrets](../howto/rotate-secrets.md) without refusing anybody.

## What is no setting

Attempts, backoff, deadline, isolation, grouping and `uses` belong to a handler, and so to the code:
[`Inbox.on`](api.md#inboxon). A sender that is in no catalogue is described under `[providers.NAME]`:
[how](describing-a-provider.md).
"""


def settings() -> str:
    parts = [HEAD, *_entries(KEYS, Settings, with_variable=True), SOURCES]
    parts += [*_entries(SOURCE_KEYS, SourceSettings, with_variable=False), DEPENDENCIES]
    parts += [*_entries(DEPENDENCY_KEYS, Dependency, with_variable=False), FORWARDS]
    parts += [*_entries(FORWARD_KEYS, ForwardSettings, with_variable=False), ALERTS]
    parts += [*_entries(ALERT_KEYS, AlertSettings, with_variable=False), SINKS]
    parts += [*_entries(SINK_KEYS, SinkSettings, with_variable=False), OIDC]
    return "\n".join([*parts, *_entries(OIDC_KEYS, OidcSettings, with_variable=False), SECRETS])


def _entries(keys: Mapping[str, Key], kind: type[Any], *, with_variable: bool) -> list[str]:
    known = {each.name: each for each in fields(kind)}
    return [_entry(name, key, known[name], with_variable=with_variable) for name, key in keys.items()]


def _entry(name: str, key: Key, field: Field[Any], *, with_variable: bool) -> str:
    lines = [f"### `{name}`", "", key.says, ""]
    lines.append(f"- takes: {_takes(key)}")
    lines.append(f"- default: {key.default or default_of(field)}")
    lines.append(f"- example: `{name} = {key.example}`")
    if with_variable:
        lines.append(f"- variable: `LANDFAST_{name.upper()}`")
    return "\n".join([*lines, ""])


def _takes(key: Key) -> str:
    if key.one_of:
        return ", ".join(f'`"{each}"`' for each in key.one_of)
    limits = "" if math.isinf(key.least) else f" from {_plain(key.least)} to {_plain(key.most)}"
    return f"{KINDS[key.kind]}{limits}"


def default_of(field: Field[Any]) -> str:
    value = field.default
    if value is MISSING:
        raise ValueError(f"{field.name} has no default: say in config/setting_keys.py what happens without it")
    if value is None or value in ("", ()):
        return "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f'`"{value}"`' if isinstance(value, str) else f"`{_plain(value)}`"


def _plain(number: float) -> str:
    return f"{number:.0f}" if number == int(number) else f"{number:g}"
