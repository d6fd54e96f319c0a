"""Every word that a user meets is in the glossary."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from landfast.cli import COMMANDS
from landfast.config.setting_keys import KEYS, PRESETS, SOURCE_KEYS
from landfast.domain.lifecycle import Signal, State

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs/glossary.md").read_text("utf-8")
ROWS = re.findall(r"^\| (?!Word)([^|]+) \| ([^|]+) \|$", TEXT, re.MULTILINE)
WORDS = {word.strip("` ") for entry, _ in ROWS for word in re.split(r"[,;]", entry)}

PLAIN_SETTINGS = {
    "port": "a word of the network's",
    "allow_from": "says itself whom it allows",
    "body_limit": "a limit of the body",
    "https_only": "a word of the network's",
}
PLAIN_COMMANDS = {"init", "serve", "work", "send", "verify-signature", "migrate", "events", "effects", "sources"}
"""Verbs of everyday language, and plurals of words that are there."""
ASKED_FOR = (
    *("inbox", "ledger", "source", "provider", "profile", "scheme", "handshake", "delivery", "event", "entity", "lane"),
    *("intake", "worker", "drainer", "supervisor", "boot", "tally", "hand", "lease", "token", "receipt", "tombstone"),
    *("spool", "journal", "preset", "mark", "epoch", "shelf", "seal", "suspect", "verdict", "settle", "effect"),
    *("breaker", "switch", "wakeup", "forced"),
)


@pytest.mark.parametrize("word", [*State, *Signal, *ASKED_FOR])
def test_a_state_a_signal_and_a_word_of_ours_have_an_entry(word: str) -> None:
    assert str(word) in WORDS


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in PLAIN_COMMANDS])
def test_a_command_is_named_after_a_word_that_has_an_entry(command: str) -> None:
    assert command in WORDS or f"landfast {command}" in TEXT


@pytest.mark.parametrize("key", [key for key in [*KEYS, *SOURCE_KEYS] if key not in PLAIN_SETTINGS])
def test_a_setting_is_explained_by_one_of_its_words(key: str) -> None:
    words = {singular(word) for word in (key, key.replace("_", " "), *key.split("_"))}
    assert words & WORDS or f"`{key}`" in TEXT


def singular(word: str) -> str:
    return f"{word.removesuffix('ies')}y" if word.endswith("ies") else word.removesuffix("s")


def test_presets_are_named_and_no_word_has_two_entries() -> None:
    assert all(f"`{preset}`" in TEXT for preset in PRESETS)
    entries = [entry for entry, _ in ROWS]
    assert len(entries) == len(set(entries)) > 80
    assert all(meaning.strip() for _, meaning in ROWS)
