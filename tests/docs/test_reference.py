"""What a user can set, call or meet is described: a new one without its sentence fails here."""

from __future__ import annotations

import importlib
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import landfast
import landfast.testing
from docs import api_page, errors_page, settings_page
from landfast import config
from landfast.config import Settings, SourceSettings
from landfast.config.key import Key
from landfast.config.setting_keys import KEYS, SOURCE_KEYS
from landfast.domain.errors import LandfastError

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs/reference"
NO_ERROR = {"KeyNeeded": "a request to intake for a key, answered inside"}

COMPANIONS = {
    "preset": {"redis": "redis://127.0.0.1:6379/0"},
    "concurrency": {"store": "postgresql://localhost/shop"},
}
"""What an example needs beside it."""


@pytest.mark.parametrize("name", [*KEYS, *SOURCE_KEYS])
def test_each_key_has_a_sentence_a_default_and_an_example(name: str) -> None:
    for key in (rules[name] for rules in (KEYS, SOURCE_KEYS) if name in rules):
        assert key.says[0].isupper() and key.says.endswith(".") and len(key.says) > 20
    page = (REFERENCE / "settings.md").read_text()
    described = page.partition(f"### `{name}`\n")[2].partition("\n##")[0]
    assert all(f"\n- {part}: " in described for part in ("takes", "default", "example"))
    assert (f"- variable: `LANDFAST_{name.upper()}`" in described) == (name in KEYS)


@pytest.mark.parametrize("name", KEYS)
def test_the_example_of_a_key_is_taken_from_the_file_and_from_its_variable(name: str, tmp_path: Path) -> None:
    beside = COMPANIONS.get(name, {})
    (tmp_path / "landfast.toml").write_text(f"{name} = {KEYS[name].example}\n")
    written = config.load(tmp_path / "landfast.toml", environ={}, overrides=beside)
    (tmp_path / "landfast.toml").write_text("")
    variable = {f"LANDFAST_{name.upper()}": in_the_environment(KEYS[name])}
    set_ = config.load(tmp_path / "landfast.toml", environ=variable, overrides=beside)
    assert name in ("store", "ledger", "spool") or getattr(written, name) == getattr(set_, name)


def in_the_environment(key: Key) -> str:
    value = tomllib.loads(f"it = {key.example}")["it"]
    if isinstance(value, dict):
        return ",".join(f"{name}={each}" for name, each in value.items())
    return ",".join(value) if isinstance(value, list) else str(value).lower() if isinstance(value, bool) else str(value)


@pytest.mark.parametrize("name", SOURCE_KEYS)
def test_the_example_of_a_key_of_a_source_is_taken(name: str, tmp_path: Path) -> None:
    needed = {"provider": '"stripe"', "secrets": '["env:NAME"]'} | {name: SOURCE_KEYS[name].example}
    needed |= {"listing": SOURCE_KEYS["listing"].example} if name == "reconcile" else {}
    lines = [f"{key} = {value}" for key, value in needed.items()]
    (tmp_path / "landfast.toml").write_text("\n".join(["[sources.a]", *lines]))
    assert config.load(tmp_path / "landfast.toml", environ={}).sources["a"]


def test_a_setting_without_a_default_in_the_code_needs_one_in_words() -> None:
    with pytest.raises(ValueError, match="store has no default"):
        settings_page.default_of(next(field for field in fields_of(Settings) if field.name == "store"))
    unsaid = [field.name for field in fields_of(SourceSettings) if field.name in SOURCE_KEYS and is_needed(field)]
    assert unsaid == ["provider", "secrets"]
    assert all(SOURCE_KEYS[name].default == "needed" for name in unsaid)


def fields_of(kind: type[Any]) -> tuple[Any, ...]:
    fields: tuple[Any, ...] = tuple(kind.__dataclass_fields__.values())
    return fields


def is_needed(field: Any) -> bool:
    from dataclasses import MISSING

    return field.default is MISSING and field.default_factory is MISSING


def test_every_public_name_has_its_place_in_the_reference() -> None:
    page = (REFERENCE / "api.md").read_text()
    for name in landfast.__all__:
        assert f"\n## {name}\n" in page
    for name in landfast.testing.__all__:
        assert f"### {name}\n" in page or f"### landfast.testing.{name}\n" in page
    for kind in api_page.CLASSES:
        assert [name for name, _ in api_page.members(kind) if f"### {kind.__name__}.{name}\n" not in page] == []


def test_a_public_call_without_a_docstring_cannot_be_drawn() -> None:
    class Bare:
        def call(self) -> None: ...

    with pytest.raises(ValueError, match="Bare has no docstring"):
        api_page._class(Bare)


def test_a_prompt_completes_the_public_names_and_nothing_else() -> None:
    for module in ("landfast", "landfast.testing"):
        code = (
            f"import {module} as m; print(*dir(m)); assert sorted(m.__all__) == dir(m); [getattr(m, n) for n in dir(m)]"
        )
        shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
        assert shown == sorted(importlib.import_module(module).__all__)


def test_every_error_that_users_see_is_in_the_tree_and_on_its_page() -> None:
    for module in pkgutil.walk_packages(landfast.__path__, "landfast."):
        # Django's models and admin can be imported in a project only, and have no errors of their own.
        if not module.name.endswith("__main__") and not module.name.startswith("landfast.django."):
            importlib.import_module(module.name)
    ours = {kind.__name__ for kind in descendants(LandfastError) if kind.__module__.startswith("landfast.")}
    drawn = {kind.__name__ for kind in errors_page.kinds()} - {"LandfastError"}
    assert ours - drawn == NO_ERROR.keys()
    page = (REFERENCE / "errors.md").read_text()
    assert [name for name in drawn if not re.search(rf"^## {name}\n\n\S", page, re.MULTILINE)] == []
    assert [name for name in drawn if f"── {name} " not in page and f"── {name}\n" not in page] == []


def descendants(kind: type[Any]) -> set[type[Any]]:
    return {kind for child in kind.__subclasses__() for kind in (child, *descendants(child))}
