"""`landfast init`: what it writes works as it is, on every kind of server."""

from __future__ import annotations

import asyncio
import os
import socket
import sqlite3
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from contextlib import closing
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from landfast.cli.init import KINDS, NEXT, missing
from landfast.config.dotenv import dotenv
from landfast.domain.errors import ConfigError
from tests.cli.conftest import Run
from tests.free_port import free_port
from tests.patience import PATIENCE_SECONDS
from tests.shops import until

PAID = "payment_intent.succeeded"
WRITTEN = [".env", ".gitignore", "handlers.py", "landfast.toml", "test_handlers.py"]
PLUGIN = (
    ()
    if [each for each in entry_points(group="pytest11") if each.name == "landfast"]
    else ("-p", "landfast.testing.plugin")
)
"""For a virtualenv that was made before Landfast had one."""
GUNICORN = ("-m", "gunicorn", "--no-control-socket", "--threads", "4", "--bind", "fd://{fd}")
WORK = ("-m", "landfast", "work")
SERVED: dict[str, tuple[Sequence[str], ...]] = {
    "plain": (("-m", "landfast", "serve", "--port", "{port}"),),
    "fastapi": (("-m", "uvicorn", "app:app", "--fd", "{fd}"),),
    "litestar": (("-m", "uvicorn", "app:app", "--fd", "{fd}"),),
    "flask": ((*GUNICORN, "app:app"), WORK),
    "django": ((*GUNICORN, "mysite.wsgi:application"), ("manage.py", "landfast", "work")),
}


def test_init_writes_its_files_and_never_over_one(landfast: Run, folder: Path) -> None:
    assert landfast("init").out.splitlines() == [
        "wrote .env, .gitignore, handlers.py, landfast.toml and test_handlers.py",
        "next:  landfast serve",
        "then:  landfast send stripe payment_intent.succeeded",
        "test:  python -m pytest",
        "look:  http://127.0.0.1:8421",
    ]
    assert len((folder / "handlers.py").read_text().splitlines()) == 14
    before = {name: (folder / name).read_text() for name in WRITTEN}
    again = landfast("init", "fastapi")
    assert (again.code, again.out) == (2, "")
    assert "handlers.py is here already" in again.err
    assert {name: (folder / name).read_text() for name in WRITTEN} == before
    assert not (folder / "app.py").exists()


def test_init_says_what_has_to_be_installed_first() -> None:
    def nothing_is_there(_name: str) -> None: ...

    assert [missing(kind) for kind in KINDS] == [[]] * len(KINDS), "all of it is here"
    assert missing("fastapi", nothing_is_there) == ["fastapi", "uvicorn", "pytest"]
    assert missing("plain", nothing_is_there) == ["pytest"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_settings_are_for_git_and_the_secret_is_not(landfast: Run, folder: Path, kind: str) -> None:
    wrote = landfast("init", kind, "--json").json["wrote"]
    secret = dotenv(folder)["STRIPE_WEBHOOK_SECRET"]
    assert secret.startswith("whsec_") and len(secret) == 38
    assert [name for name in wrote if secret in (folder / name).read_text()] == [".env"]
    assert ".env" in (folder / ".gitignore").read_text().splitlines()
    assert (folder / ".env").stat().st_mode & 0o777 == 0o600
    assert tomllib.loads((folder / "landfast.toml").read_text())["sources"]["stripe"]["secrets"] == [
        "env:STRIPE_WEBHOOK_SECRET"
    ]
    git = ["git", "-c", "init.defaultBranch=main", "init", "-q"]
    subprocess.run(git, check=True, cwd=folder)
    seen = subprocess.run(
        ["git", "status", "--porcelain", "-uall"], check=True, cwd=folder, capture_output=True, text=True
    )
    assert sorted(line[3:] for line in seen.stdout.splitlines()) == sorted(set(wrote) - {".env"})


def test_what_holds_bodies_is_for_its_owner_alone(landfast: Run, folder: Path) -> None:
    landfast("init")
    landfast("migrate")
    assert {(folder / name).stat().st_mode & 0o777 for name in ("landfast.db", "landfast-ledger.db")} == {0o600}


def test_files_that_a_project_has_anyway_are_left_as_they_are_and_what_they_lack_is_told(
    landfast: Run, folder: Path
) -> None:
    (folder / "landfast-ledger.db").touch(0o644)
    (folder / ".gitignore").write_text("mine")
    (folder / ".env").write_text("DATABASE_URL=mine")
    told = landfast("init", "--json").json
    assert told["wrote"] == ["handlers.py", "landfast.toml", "test_handlers.py"]
    assert told["next"][0] == "write .env into .gitignore: it holds a secret"
    assert told["next"][1].startswith("write STRIPE_WEBHOOK_SECRET=whsec_") and told["next"][1].endswith("into .env")
    assert ((folder / ".gitignore").read_text(), (folder / ".env").read_text()) == ("mine", "DATABASE_URL=mine")
    assert landfast("migrate").code == 0
    assert (folder / "landfast-ledger.db").stat().st_mode & 0o777 == 0o644


def test_init_draws_a_new_secret_each_time(landfast: Run, folder: Path) -> None:
    secrets = set()
    for _ in range(2):
        landfast("init")
        secrets.add(dotenv(folder)["STRIPE_WEBHOOK_SECRET"])
        for name in WRITTEN:
            (folder / name).unlink()
    assert len(secrets) == 2


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
async def test_what_init_writes_passes_its_own_test_and_processes_a_first_webhook(
    landfast: Run, folder: Path, kind: str
) -> None:
    landfast("init", kind)
    env = {name: value for name, value in os.environ.items() if not name.startswith("LANDFAST_")}
    tested = await _python(
        folder, env, "-m", "pytest", "-q", *PLUGIN, "-p", "no:cacheprovider", "--rootdir", str(folder)
    )
    assert "1 passed" in tested
    assert not _databases(folder), "a test leaves the real databases alone"
    typed = ("manage.py", "landfast") if kind == "django" else ("-m", "landfast")
    if kind == "django":
        await _python(folder, env, "manage.py", "makemigrations", "--check", "--dry-run")
        await _python(folder, env, "manage.py", "migrate")
    with socket.create_server(("127.0.0.1", port := free_port())) as listener:
        if kind == "plain":
            listener.close()
        servers = []
        try:
            for command in SERVED[kind]:
                fd = listener.fileno()
                part = [each.format(fd=fd, port=port) for each in command]
                with (folder / "server.log").open("ab") as out:
                    servers.append(
                        await asyncio.create_subprocess_exec(
                            *(sys.executable, *part),
                            cwd=folder,
                            env=env,
                            stdout=out,
                            stderr=out,
                            pass_fds=[fd] * (fd > 0),
                        )
                    )
            mounted = "" if kind == "plain" else "/hooks"
            send = ("send", "stripe", PAID, "--id", "evt_1", "--url", f"http://127.0.0.1:{port}{mounted}")
            await until(lambda: _exit_code(folder, env, *typed, *send), 0, within=PATIENCE_SECONDS)
            assert "duplicate" in await _python(folder, env, *typed, *send)
            await until(lambda: _orders(folder), 1, within=PATIENCE_SECONDS)
        finally:
            for server in servers:
                server.terminate()
                await server.wait()
    log = (folder / "server.log").read_text()
    assert "Traceback" not in log and "stored source=stripe" in log, log


def test_each_kind_says_how_it_goes_on() -> None:
    assert set(NEXT) == set(KINDS) == set(SERVED)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=b", "b"),
        ("export A = b ", "b"),
        ("A='b c'", "b c"),
        ('A="b=c"', "b=c"),
        ("# no\n\nA=b#c", "b#c"),
        ("A=", ""),
    ],
)
def test_a_line_of_dotenv(tmp_path: Path, line: str, value: str) -> None:
    (tmp_path / ".env").write_text(f"{line}\n")
    assert dotenv(tmp_path) == {"A": value}


def test_a_line_of_dotenv_that_cannot_be_read_is_named_and_not_repeated(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=b\nwhsec_secret\n")
    with pytest.raises(ConfigError) as raised:
        dotenv(tmp_path)
    assert str(raised.value) == ".env, line 2: write NAME=value"
    (tmp_path / ".env").write_bytes(b"A=\xff")
    with pytest.raises(ConfigError, match="it is not UTF-8"):
        dotenv(tmp_path)


def test_the_environment_wins_over_dotenv(landfast: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    landfast("init")
    assert landfast("sources", "check").code == 0
    monkeypatch.setenv("STRIPE_WEBHOOK_SECRET", "")
    assert "the secret is empty" in landfast("sources", "check").out


async def _exit_code(folder: Path, env: dict[str, str], *arguments: str) -> int | None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, *arguments), cwd=folder, env=env, stdout=-3, stderr=-3
    )
    return await process.wait()


async def _python(folder: Path, env: dict[str, str], *arguments: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, *arguments), cwd=folder, env=env, stdout=-1, stderr=-2
    )
    out, _ = await process.communicate()
    assert process.returncode == 0, out.decode()
    return out.decode()


def _databases(folder: Path) -> list[Path]:
    return [*folder.glob("*.db*"), *folder.glob("*.sqlite3*")]


def _orders(folder: Path) -> int:
    is_django = (folder / "manage.py").exists()
    with closing(sqlite3.connect(folder / ("db.sqlite3" if is_django else "landfast-ledger.db"))) as db:
        try:
            count: int = db.execute(f"SELECT count(*) FROM {'shop_order' if is_django else 'orders'}").fetchone()[0]
        except sqlite3.OperationalError:
            return 0
        return count
