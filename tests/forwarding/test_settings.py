"""`[[forward]]` and `[dependencies.NAME]` as they are written, and one sentence for each mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from landfast import Inbox
from landfast.app.forwards_checkup import examine_targets
from landfast.cli import main
from landfast.domain.errors import ConfigError
from landfast.recovery.doctor import Level

SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
SOURCE = f'[sources.shop]\nprovider = "standard-webhooks"\nsecrets = ["{SECRET}"]\n'
GOOD = {"name": '"orders"', "source": '"shop"', "url": '"https://orders.example.com/in"', "secrets": f'["{SECRET}"]'}


def written(**changes: str | None) -> str:
    table = {key: value for key, value in {**GOOD, **changes}.items() if value is not None}
    return SOURCE + "[[forward]]\n" + "".join(f"{key} = {value}\n" for key, value in table.items())


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_forward_is_a_handler_with_its_own_dependency(folder: Path) -> None:
    (folder / "landfast.toml").write_text(written() + "[dependencies.orders]\nrate = 5\n")
    inbox = Inbox()
    (handler,) = inbox.registry.handlers
    assert (handler.name, handler.source, handler.pattern) == ("orders", "shop", "*")
    assert (handler.uses, handler.writes, handler.is_async) == (("orders",), False, True)
    assert inbox.registry.dependencies["orders"].rate == 5
    assert "orders.example.com" not in repr(inbox.forwards["orders"])
    assert SECRET not in repr(inbox.settings.forwards)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (written(name=None), "forward 1: name is missing; write name = "),
        (written(url=None), "forward orders: url is missing"),
        (written(secrets=None), "forward orders: secrets is missing"),
        (written(source=None), "forward orders: source is missing"),
        (written(name='"a b"'), "must be letters, digits"),
        (written(url='"orders.example.com"'), "url must be the whole address"),
        (written(url='"ftp://orders.example.com/"'), "url must be the whole address"),
        (written(url='"https://a:b@orders.example.com/"'), "holds a name or password"),
        (written(url='"http://orders.example.com/"'), 'no more than that: such as allow = ["10.20.30.40"]'),
        (written(url='"http://10.1.2.3/in"'), 'name its address in allow and no more than that: allow = ["10.1.2.3"]'),
        (written(url='"https://127.0.0.1/"'), 'is not public; write allow = ["127.0.0.1"]'),
        (written(url='"https://[::1]/"'), "is not public"),
        (written(allow='["10.0.0.0/99"]'), "is no address or network"),
        (written(timeout="0"), "timeout is 0.0; it must be from 0.1 to 300"),
        (written(tipe='"x"'), "there is no key 'tipe'; did you mean 'type'?"),
        (written() + written().removeprefix(SOURCE), "forward orders: the name is taken"),
        (SOURCE + "[forward]\nname = 'x'\n", "write [[forward]] with two brackets"),
        (SOURCE + "[dependencies]\nmailer = 5\n", "must be tables, such as [dependencies.mailer]"),
        (SOURCE + "[dependencies.mailer]\nrates = 5\n", "there is no key 'rates'; did you mean 'rate'?"),
        (SOURCE + "[dependencies.mailer]\nrate = 0\n", "rate is 0.0; it must be from 0.01"),
    ],
)
def test_a_mistake_is_one_sentence_that_names_the_key(text: str, sentence: str, folder: Path) -> None:
    (folder / "landfast.toml").write_text(text)
    with pytest.raises(ConfigError) as error:
        Inbox()
    assert sentence in str(error.value)
    assert SECRET not in str(error.value)


@pytest.mark.parametrize(
    ("secret", "sentence"),
    [
        ("env:NOT_SET_ANYWHERE", "the environment variable NOT_SET_ANYWHERE is not set"),
        ("whsec_c2hvcnQ=", "it has 5 bytes"),
        ("plain", "it must be whsec_ and base64"),
    ],
)
async def test_a_secret_that_is_not_there_is_known_before_the_first_event(
    secret: str, sentence: str, folder: Path
) -> None:  # fmt: skip
    (folder / "landfast.toml").write_text(written(secrets=f'["{secret}"]'))
    inbox = Inbox()
    with pytest.raises(ConfigError, match=sentence):
        inbox.worker()
    (check,) = await examine_targets(inbox.forwards.values())
    assert check.level is Level.FAIL
    assert sentence in check.found


def test_a_rate_for_what_nobody_uses_is_a_mistake(folder: Path) -> None:
    (folder / "landfast.toml").write_text(written() + "[dependencies.order]\nrate = 5\n")
    with pytest.raises(ConfigError, match="dependency order: nothing uses it; did you mean 'orders'"):
        Inbox().worker()


def test_uses_are_names() -> None:
    inbox = Inbox()
    for wrong in ("mailer", ["a b"], ["a", "a"], [7], None):
        with pytest.raises(ConfigError, match="handler f: uses"):

            @inbox.on("shop", "*", name="f", uses=wrong)  # type: ignore[arg-type]
            async def f(event: object, tx: object) -> None: ...


def test_without_an_app_and_without_a_forward_serve_says_what_it_needs(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "landfast.toml").write_text(SOURCE)
    assert main(["serve"]) == 2
    assert "or write [[forward]], which needs no app" in capsys.readouterr().err


def test_checks_name_each_target(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_SECRET", SECRET)
    url, allow = '"https://localhost:9/in"', '["127.0.0.0/8", "::1"]'
    (folder / "landfast.toml").write_text(written(url=url, allow=allow).replace(SECRET, "env:SHOP_SECRET"))
    main(["sources", "check"])
    assert "ok    forward orders: to localhost, 1 secret\n" in capsys.readouterr().out
