"""What each command's `--help` shows to copy: every line is a command that can be typed, and what it is for."""

from __future__ import annotations

from collections.abc import Mapping

import click

EXAMPLES: Mapping[str, Mapping[str, str]] = {
    "init": {"landfast init": "an application to start from, here"},
    "serve": {
        "landfast serve": "the app of landfast.toml",
        "landfast serve shop:inbox --reload": "while you write it",
        "landfast serve --role intake --intakes 2": "one part of it, on this machine",
        "landfast serve --tls-cert chain.pem --tls-key key.pem": "without a proxy",
    },
    "tokens create": {
        "landfast tokens create anna --role operator --for 90d": "for a person; it is shown this once",
        "landfast tokens create grafana --json": "for a program that only looks",
    },
    "tokens list": {"landfast tokens list": "who may use the admin API"},
    "sessions list": {"landfast sessions list": "who is signed in to the dashboard at your identity provider"},
    "sessions end": {'landfast sessions end 5f2a9c01d3e4b687 --why "left the team"': "known everywhere in two seconds"},
    "tokens revoke": {'landfast tokens revoke anna --why "left the team"': ""},
    "listen": {
        "landfast listen https://inbox.example.com --token env:INBOX_TOKEN --source stripe": "to the inbox here",
        "landfast listen https://inbox.example.com --token env:INBOX_TOKEN --event evt_1A2b": "one of them, again",
    },
    "mcp": {
        "landfast mcp --app shop:inbox": "what your assistant starts; it only looks",
        "landfast mcp --allow-changes --as anna": "it may replay, retry and pause, too",
    },
    "demo": {"landfast demo": "one payment, delivered thousands of times"},
    "events list": {
        "landfast events list state:delayed": "what failed, and is tried again by itself",
        "landfast events list source:stripe since:2h": "",
    },
    "events show": {"landfast events show evt_1A2b": "by the sender's id, ours, or its first 6 digits"},
    "events export": {
        "landfast events export evt_1A2b --to event.jsonl": "one event, with its exact bytes",
        "landfast events export source:stripe since:2h --to -": "many, to another program",
    },
    "events import": {"landfast events import event.jsonl": "into the inbox of the settings here"},
    "events save-test": {"landfast events save-test evt_1A2b --to test_evt_1A2b.py": "then: pytest test_evt_1A2b.py"},
    "dead list": {
        "landfast dead list": "what waits for you, and why",
        "landfast dead list source:stripe error:KeyError since:2h": "",
    },
    "dead summary": {
        "landfast dead summary": "what fails alike, most first",
        "landfast dead summary --failing since:1h": "what is tried again by itself meanwhile",
    },
    "dead discard": {
        'landfast dead discard evt_1A2b --why "a test of theirs"': "one event",
        'landfast dead discard error:KeyError --why "known" --preview': "how many would it be?",
    },
    "dead show": {"landfast dead show evt_1A2b": "its bytes, and every attempt with its trace"},
    "lanes list": {"landfast lanes list": "exit 1 while a dead letter blocks one"},
    "lanes skip": {'landfast lanes skip evt_1A2b --why "a test of theirs"': "its entity's later events run"},
    "lifecycle show": {
        "landfast lifecycle show order": "its states, and which may follow which",
        "landfast lifecycle show order --svg order.svg": "as a drawing",
    },
    "lifecycle state": {"landfast lifecycle state pi_1A2b": "where that entity is now"},
    "held list": {"landfast held list source:stripe": "with the reason of each"},
    "held add": {
        'landfast held add evt_1A2b --why "the customer asks us to wait"': "until it is admitted or discarded"
    },
    "held admit": {
        "landfast held admit evt_1A2b": "process it as any other",
        "landfast held admit source:stripe since:2h --dry-run": "how many would it be?",
    },
    "held discard": {"landfast held discard evt_1A2b": "make it a dead letter"},
    "retention run": {
        "landfast retention run --dry-run": "what is old enough to go?",
        "landfast retention run": "remove it now; workers do so by themselves",
        "landfast retention run --now --bodies 7d": "the disk is full",
    },
    "retention unbind": {"landfast retention unbind 5f0c1d7a92e4b3115f0c1d7a92e4b311": "an inbox that is no more"},
    "compact": {
        "landfast compact --dry-run": "how much could be given back?",
        "landfast compact": "give it back; nobody can write meanwhile",
    },
    "retention show": {"landfast retention show": "how long things are kept, by source"},
    "alerts list": {"landfast alerts list": "exit 1 while one is firing, for cron"},
    "alerts test": {"landfast alerts test": "before you need it"},
    "alerts silence": {
        'landfast alerts silence volume-high/stripe --for 2h --why "the yearly import"': "one source",
        "landfast alerts silence source-silent --for 1d": "all of them",
    },
    "alerts unsilence": {"landfast alerts unsilence source-silent": ""},
    "unhandled": {"landfast unhandled": "by type, most first"},
    "effects list": {"landfast effects list --state dead": ""},
    "effects retry": {
        "landfast effects retry 5f0c1d7a92e4b311": "one, by its key",
        "landfast effects retry --all": "every dead one, after the fix",
    },
    "effects skip": {
        'landfast effects skip 5f0c1d --why "no such mailbox"': "the steps after it run",
        "landfast effects skip 5f0c1d --result '{\"account\": 7}'": "made by hand: they are given that",
    },
    "pause": {
        "landfast pause": "what is paused, by whom, and why",
        'landfast pause stripe --why "wrong prices"': "still taken in, not processed",
        "landfast pause create_order --now": "and what runs is taken back",
    },
    "resume": {"landfast resume stripe": ""},
    "top": {
        "landfast top": "the overview, live",
        "landfast top state:dead since:2h": "with these events below it",
    },
    "status": {
        "landfast status": "what comes in, what fails, what waits, who is at work",
        "landfast status --watch": "drawn again every second or two",
    },
    "rejected list": {"landfast rejected list --source stripe": "when, from where, and why"},
    "retry": {
        "landfast retry evt_1A2b": "one event",
        "landfast retry handler:create_order --preview": "how many would it be?",
    },
    "replay list": {"landfast replay list": "what was replayed, by whom, and how far it came"},
    "audit list": {"landfast audit list --since 24h": "who changed what, and why"},
    "audit verify": {"landfast audit verify": "has anybody tampered with it?"},
    "audit accept": {'landfast audit accept --why "restored from a backup"': "after a restore"},
    "reconcile": {
        "landfast reconcile stripe --since 72h --dry-run": "what never arrived?",
        "landfast reconcile stripe --since 72h": "take it in",
    },
    "duplicates": {
        "landfast duplicates --table orders --column payment_id --event-column event_id": "which rows are too many?"
    },
    "replay start": {
        "landfast replay start error:KeyError --preview": "how many would it be? `start` can be left out",
        "landfast replay start evt_1A2b --dry-run": "what would it write?",
        "landfast replay start error:KeyError --canary 5": "all of them, if the first five go well",
        "landfast replay start error:KeyError --rate 50": "all of them, 50 a second",
        "landfast replay start evt_1A2b --handler create_order": "one handler of several",
    },
    "replay show": {"landfast replay show 5f0c1d": "by the first digits of its name"},
    "replay cancel": {"landfast replay cancel 5f0c1d": "what it has replayed runs on"},
    "replay resume": {"landfast replay resume 5f0c1d": "from where it was"},
    "erase": {
        "landfast erase evt_1A2b": "one event",
        "landfast erase entity:cus_9 --dry-run": "how many has this person?",
        "landfast erase --again": "what a restored database brought back",
    },
    "seal new": {"landfast seal new": "the only place where it is shown"},
    "seal rotate": {"landfast seal rotate": "seal is the new key, seal_old the one before"},
    "proof": {
        "landfast proof": "lost 0   doubled 0",
        "landfast proof --full": "trusts no counter: asks for every event",
    },
    "doctor": {
        "landfast doctor": "",
        "landfast doctor --strict": "for cron: exit 1 for a warning, too",
        "landfast doctor --json": "for whatever watches this machine; exit 1 where something is wrong",
    },
    "migrate": {"landfast migrate": "both databases; safe to repeat"},
    "recover ledger": {
        "landfast recover ledger --since 2h --dry-run": "which would be processed again?",
        "landfast recover ledger --since 2026-11-16T22:00:00Z": "from before the backup",
    },
}
"""By the command's path. A command that says its own examples is not here."""


def add_examples(command: click.Command, path: str) -> None:
    """To this command, and to those below it."""
    if command.epilog is None and path in EXAMPLES:
        command.epilog = _written(EXAMPLES[path])
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            add_examples(inner, f"{path} {name}")


def _written(examples: Mapping[str, str]) -> str:
    width = max(len(line) for line in examples)
    lines = [f"  {line:<{width}}  {note}".rstrip() for line, note in examples.items()]
    return "\n".join(["\b", "Examples:" if len(lines) > 1 else "Example:", *lines])
