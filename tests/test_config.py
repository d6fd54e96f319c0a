from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from landfast import config
from landfast.config import Address, SecretSettings, Settings, SourceSettings
from landfast.domain.errors import ConfigError

SECRET = "whsec_very_private"


def load(tmp_path: Path, text: str = "", environ: dict[str, str] | None = None, **overrides: Any) -> Settings:
    file = tmp_path / "landfast.toml"
    file.write_text(text)
    return config.load(file, environ=environ or {}, overrides=overrides)


def test_without_anything_there_are_sqlite_files_here_and_the_loopback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = config.load(environ={})
    assert (settings.store, settings.ledger) == (Address("landfast.db"), Address("landfast-ledger.db"))
    assert (settings.host, settings.port, settings.intakes, settings.workers) == ("127.0.0.1", 8420, 1, 1)
    assert (settings.concurrency, settings.lease, settings.app) == (1, 30.0, None)
    assert dict(settings.sources) == {}


def test_the_file_then_the_environment_then_the_code(tmp_path: Path) -> None:
    text = 'port = 1\nhost = "a"\nlease = 10\n'
    settings = load(tmp_path, text, {"LANDFAST_HOST": "b", "LANDFAST_LEASE": "20"}, lease=40)
    assert (settings.port, settings.host, settings.lease) == (1, "b", 40.0)


def test_the_file_may_be_named_by_the_environment(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text("port = 7")
    assert config.load(environ={"LANDFAST_CONFIG": str(tmp_path / "other.toml")}).port == 7


def test_paths_of_the_file_start_where_the_file_is(tmp_path: Path) -> None:
    settings = load(tmp_path, 'store = "sqlite:data/in.db"')
    assert settings.store == Address(str(tmp_path / "data/in.db"))
    assert settings.ledger == Address(str(tmp_path / "data/landfast-ledger.db"))
    assert settings.folder == tmp_path


def test_paths_of_the_environment_start_where_we_are(tmp_path: Path) -> None:
    assert load(tmp_path, environ={"LANDFAST_STORE": "in.db"}).store == Address("in.db")
    assert load(tmp_path, environ={"LANDFAST_STORE": "sqlite:///var/in.db"}).store == Address("/var/in.db")


def test_the_ledger_is_the_store_itself_on_postgresql(tmp_path: Path) -> None:
    settings = load(tmp_path, 'store = "postgresql://me@db/shop"\nworkers = 4')
    assert settings.ledger == settings.store
    assert (settings.concurrency, settings.workers) == (16, 4)


def test_a_source_has_what_the_file_says(tmp_path: Path) -> None:
    text = f"""
        [sources.stripe]
        provider = "stripe"
        secrets = ["env:STRIPE", "{SECRET}"]
        tolerance = 60
        dedup = "body"
        dedup_key = "k"
        body_limit = 5000
        [sources.own]
        provider = "generic"
        secrets = ["x"]
        header = "X-Own"
    """
    sources = load(tmp_path, text).sources
    assert sources["stripe"] == SourceSettings(
        name="stripe",
        provider="stripe",
        secrets=(SecretSettings(value="env:STRIPE"), SecretSettings(value=SECRET)),
        tolerance=60.0,
        dedup="body",
        dedup_key="k",
        body_limit=5000,
    )
    assert sources["own"].options == {"header": "X-Own"}


def test_nothing_private_is_printed(tmp_path: Path) -> None:
    text = f'store = "postgresql://me:hunter2@db:5432/shop?password=hunter3"\n[sources.a]\nprovider = "stripe"\nsecrets = ["{SECRET}"]'
    settings = load(tmp_path, text)
    assert str(settings.store) == "postgresql://me@db:5432/shop"
    for shown in (repr(settings), str(settings.store)):
        assert "hunter" not in shown
        assert SECRET not in shown
    assert str(Address("postgresql:///shop", scheme="postgresql")) == "postgresql:///shop"


IGNORE = 'landfast.toml: sources.stripe: ignore must be a list of types or patterns, such as ignore = ["invoice.*"]'
SOURCE = '[sources.stripe]\nprovider = "stripe"\n'

MISTAKES = {
    "prot = 1": "landfast.toml: there is no key 'prot'; did you mean 'port'?",
    "zzz = 1": "landfast.toml: there is no key 'zzz'; the keys are store, ledger, app,",
    'port = "80"': "landfast.toml: port must be a whole number, not str, such as port = 8420",
    '[source.stripe]\nprovider = "stripe"': "landfast.toml: there is no key 'source'; did you mean 'sources'?",
    '[sources.stripe]\nprovder = "stripe"': "landfast.toml: sources.stripe: there is no key 'provder'; did you mean 'provider'?",
    '[sources.own]\nprovider = "generic"\nsecret = "x"': "landfast.toml: sources.own: there is no key 'secret'; did you mean 'secrets'?",
    '[sources.a]\nprovider = "stripe"\nsecrets = "x"': 'landfast.toml: sources.a: secrets must be a list, not str, such as secrets = ["env:NAME"]',
    "port = true": "landfast.toml: port must be a whole number, not bool",
    "port = 65536": "landfast.toml: port is 65536; it must be from 0 to 65535",
    "lease = 0": "landfast.toml: lease is 0.0; it must be from 1 to 3600",
    "lease = nan": "landfast.toml: lease is nan; it must be from 1 to 3600",
    "host = 1": "landfast.toml: host must be a string, not int",
    'host = " "': "landfast.toml: host is empty; give it a value, or leave it out",
    'store = ""': "landfast.toml: store is empty; give it a value, or leave it out",
    'store = "sqlite:"': "store: sqlite: needs a path, such as sqlite:landfast.db",
    'store = "mysql://me:hunter2@db/x"': "store: 'mysql' is no kind of database that is installed; the known ones are django, postgresql, sqlite",
    'store = "postgresql:shop"': "store: write the address as postgresql://user:password@host/name",
    'store = "postgresql://me:hunter2@db:port/x"': "store: the PostgreSQL address is malformed; check its host and port",
    'store = "a.db"\nledger = "./a.db"': "ledger: it is the store's own file; on SQLite they must be two files",
    "workers = 2": "workers is 2, but a SQLite ledger has one writer; set it to 1, or use PostgreSQL",
    "concurrency = 8": "concurrency is 8, but a SQLite ledger has one writer; set it to 1, or use PostgreSQL",
    "sources = 1": "landfast.toml: sources must be tables, such as [sources.stripe]",
    "[sources]\nstripe = 1": "landfast.toml: sources must be tables, such as [sources.stripe]",
    "[sources.stripe]": "landfast.toml: sources.stripe: provider is missing;",
    SOURCE: "landfast.toml: sources.stripe: secrets is missing or empty; give at least one,",
    SOURCE + "secrets = []": "landfast.toml: sources.stripe: secrets is missing or empty; give at least one,",
    SOURCE + 'secrets = "x"': "landfast.toml: sources.stripe: secrets must be a list, not str",
    SOURCE + "secrets = [1]": "landfast.toml: sources.stripe: secrets must be a list of strings,",
    SOURCE + 'secret = "x"': "landfast.toml: sources.stripe: there is no key 'secret'; did you mean 'secrets'?",
    SOURCE + 'secrets = ["x"]\ntolerance = 0': "landfast.toml: sources.stripe: tolerance is 0.0; it must be from 1 to",
    SOURCE
    + 'secrets = ["x"]\nallow_from = []': "landfast.toml: sources.stripe: allow_from is empty; name who may send, or",
    SOURCE
    + 'secrets = ["x"]\nunhandled = "drop"': "landfast.toml: sources.stripe: unhandled is 'drop'; it must be one of keep, done, dead",
    '[sources.stripe]\nprovider = "stripe"\nsecrets = ["x"]\nignore = []': "landfast.toml: sources.stripe: ignore is empty; leave it out",
    '[sources.stripe]\nprovider = "stripe"\nsecrets = ["x"]\nattempts = 3': (
        "landfast.toml: sources.stripe: there is no key 'attempts'; it belongs to a handler:"
        " write it in the code, @inbox.on(..., attempts=...)"
    ),
    "attempts = 3": "landfast.toml: there is no key 'attempts'; it belongs to a handler",
    '[sources.stripe]\nprovider = "stripe"\nsecrets = ["x"]\nignore = [7]': IGNORE,
    '[sources.stripe]\nprovider = "stripe"\n'
    'secrets = ["x"]\nignore = "invoice.*"': "landfast.toml: sources.stripe: ignore must be a list, not str",
    '[sources.stripe]\nprovider = "stripe"\n'
    'secrets = ["x"]\nallow_from = [7]': "landfast.toml: sources.stripe: allow_from: 7 is no address or network; ",
    "trusted_proxies = [true]": "landfast.toml: trusted_proxies: True is no address or network; write each as",
    'trusted_proxies = ["10.0.0.1/8"]': "landfast.toml: trusted_proxies: '10.0.0.1/8' is no address or network; did you mean '10.0.0.0/8'?",
    '[sources."a b"]\nprovider = "stripe"\nsecrets = ["x"]': "landfast.toml: sources.a b: the name 'a b' must be letters",
    "rate = 5": "landfast.toml: there is no key 'rate'; it belongs to a source: write it under [sources.NAME]",
    SOURCE
    + 'secrets = ["x"]\nhttps_only = true': "landfast.toml: sources.stripe: https_only is no key of a source; write it above",
    'ordered_by = "id"': "landfast.toml: there is no key 'ordered_by'; it belongs to a source: write it under [sources.NAME]",
    "spool_limit = 5": "landfast.toml: spool_limit is 5; it must be from 1048576 to 1099511627776",
    'redis = "redis://me:hunter2@cache/shop"': "landfast.toml: redis must be an address, such as",
    'redis = "http://me:hunter2@cache"': "landfast.toml: redis must be an address, such as",
    "port = ": "landfast.toml: not valid TOML: Invalid value",
    "app = shop": "landfast.toml: not valid TOML: Invalid value (at line 1, column 7); text stands in quotes, as in",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_is_one_sentence_that_names_the_key_and_the_fix(text: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    assert str(caught.value).startswith(MISTAKES[text])
    assert "\n" not in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("environ", "sentence"),
    [
        ({"LANDFAST_PORT": "x"}, "LANDFAST_PORT: 'x' is not a number; set it to one, such as 8420, or unset it"),
        ({"LANDFAST_PORT": "-1"}, "LANDFAST_PORT is -1; it must be from 0 to 65535"),
        ({"LANDFAST_STORE": ""}, "LANDFAST_STORE is empty; give it a value, or leave it out"),
        ({"LANDFAST_CONFIG": "no.toml"}, "configuration: there is no file 'no.toml'; correct the path, or run"),
    ],
)
def test_a_mistake_in_the_environment_names_its_variable(
    environ: dict[str, str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as caught:
        config.load(environ=environ)
    assert str(caught.value).startswith(sentence)


def test_an_empty_number_in_the_environment_is_none(tmp_path: Path) -> None:
    assert load(tmp_path, environ={"LANDFAST_PORT": ""}).port == 8420


def test_a_mistake_in_the_code_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"Inbox\(\): there is no key 'stroe'; did you mean 'store'\?"):
        load(tmp_path, stroe="x")
    assert load(tmp_path, port=None).port == 8420


def test_a_file_that_is_no_text_or_cannot_be_read(tmp_path: Path) -> None:
    file = tmp_path / "landfast.toml"
    file.write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="not UTF-8"):
        config.load(file, environ={})


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "landfast.toml"
    file.touch()

    def refuse(*_arguments: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", refuse)  # root may read everything, so no file mode would do
    with pytest.raises(ConfigError, match="cannot be read: Permission denied"):
        config.load(file, environ={})


def test_a_variable_that_a_setting_names_is_read(tmp_path: Path) -> None:
    file = tmp_path / "landfast.toml"
    file.write_text('seal = "env:LANDFAST_MASTER_KEY"')
    given = {"LANDFAST_CONFIG": str(file), "LANDFAST_MASTER_KEY": "k", "LANDFAST_LEDGER": "env:LANDFAST_DB"}
    assert config.strange_variables(given | {"LANDFAST_DB": "x"}) == []
    assert len(config.strange_variables({"LANDFAST_MASTER_KEY": "k"})) == 1
    assert len(config.strange_variables({"LANDFAST_CONFIG": "none.toml", "LANDFAST_MASTER_KEY": "k"})) == 1


def test_a_variable_for_what_only_a_source_has_says_where_it_belongs() -> None:
    assert config.strange_variables({"LANDFAST_ALLOW_FROM": "10.0.0.0/8"}) == [
        "LANDFAST_ALLOW_FROM is set, and nothing reads it; allow_from belongs to a source: write it under [sources.NAME]"
    ]
