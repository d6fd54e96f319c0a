"""The files of deploy/ and the page about them: every command, option, path and setting in them exists."""

from __future__ import annotations

import configparser
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
import pytest
from redis import Redis
from redis.exceptions import AuthenticationError

from landfast.cli import landfast
from landfast.config import Settings, load
from landfast.config.setting_keys import KEYS
from landfast.domain.delivery import Head, Headers
from landfast.domain.readiness import Readiness
from landfast.processes.children.lifeline import GRACE_SECONDS
from landfast.web.health import vital_sign
from tests.deploy import plain_yaml
from tests.valkey import STARTS_WITHIN
from tests.valkey import _binary as valkey_binary

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
ROLES = {"intake-1": "intake", "intake-2": "intake", "worker-1": "worker", "worker-2": "worker", "drainer": "drainer"}


def compose() -> dict[str, Any]:
    found: dict[str, Any] = plain_yaml.read((DEPLOY / "compose.yaml").read_text())
    return found


def environment() -> dict[str, str]:
    given = compose()["services"]["intake-1"]["environment"]
    return {name: re.sub(r"\$\{\w+:\?[^}]*}", "password", value) for name, value in given.items()}


def settings() -> Settings:
    return load(DEPLOY / "landfast.toml", environ=environment())


def must_parse(words: list[str]) -> None:
    """What click refuses, it says; nothing is run."""
    context: click.Context | None = click.Context(landfast, info_name="landfast", **landfast.context_settings)
    command: click.Command = landfast
    while isinstance(command, click.Group):
        assert context is not None
        name, found, words = command.resolve_command(context, words)
        assert found is not None and name is not None, words
        command, context = found, click.Context(found, parent=context, info_name=name)
    assert context is not None
    command.parse_args(context, list(words))


def test_the_settings_are_taken_as_they_are_written() -> None:
    found = settings()
    assert found.store.target == "postgresql://landfast:password@postgres/landfast"
    assert (str(found.redis), str(found.journal)) == ("redis://valkey:6379/0", "nats://landfast@nats:4222/landfast")
    assert found.spool == Path("/var/lib/landfast/spool")
    assert {name for name in environment() if name.startswith("LANDFAST_")} <= {
        f"LANDFAST_{key.upper()}" for key in KEYS
    }


def test_compose_runs_two_intakes_two_workers_and_a_drainer_with_commands_that_exist() -> None:
    services = compose()["services"]
    ours = {name: service for name, service in services.items() if service["image"] == "landfast"}
    assert {name: service["command"][-1] for name, service in ours.items()} == ROLES
    for name, service in ours.items():
        must_parse(service["command"])
        has_port = ROLES[name] == "intake"
        assert ("ports" in service) is has_port
        assert service.get("healthcheck") == (None if has_port else {"disable": True})
        assert int(service["stop_grace_period"].removesuffix("s")) > GRACE_SECONDS
        assert set(service["depends_on"]) <= services.keys()


def test_compose_names_no_volume_secret_or_host_that_is_not_there() -> None:
    found = compose()
    mounts = [mount.split(":") for service in found["services"].values() for mount in service.get("volumes", [])]
    named = {source for source, *_ in mounts if not source.startswith(".")}
    assert named == set(found["volumes"])
    assert all((DEPLOY / source).exists() for source, *_ in mounts if source.startswith("."))
    spools = [mount for mount in mounts if mount[1] == "/var/lib/landfast"]
    assert len({source for source, *_ in spools}) == 2, "each intake has a spool of its own"
    hosts = {urlsplit(address).hostname for address in environment().values()}
    assert hosts <= found["services"].keys()
    (secret,) = found["services"]["intake-1"]["secrets"]
    assert secret["source"] in found["secrets"]
    (given,) = settings().sources["stripe"].secrets
    assert secret["target"] == f"/app/{given.value.removeprefix('file:')}", "where the settings look for it"


def test_every_server_of_compose_has_a_health_check() -> None:
    services = compose()["services"]
    for name in ("postgres", "valkey", "nats"):
        assert services[name]["healthcheck"]["test"][0] == "CMD"


def test_every_server_of_compose_has_a_password_that_is_in_no_list_of_processes() -> None:
    services = compose()["services"]
    given = compose()["services"]["intake-1"]["environment"]
    for name, variable in (("STORE", "POSTGRES"), ("REDIS", "VALKEY"), ("JOURNAL", "NATS")):
        assert f"${{{variable}_PASSWORD:?" in given[f"LANDFAST_{name}"]
        server = services[variable.lower()]
        assert f"${{{variable}_PASSWORD:?" in str(server["environment"])
        assert "${" not in str(server.get("command")), "compose would write it into the command line"
        assert "ports" not in server


def test_valkey_takes_its_password_from_its_settings(tmp_path: Path) -> None:
    """The very line of compose.yaml, with a real server."""
    shell, option, line = compose()["services"]["valkey"]["command"]
    line = line.replace("$$", "$").replace("valkey-server -", f"{valkey_binary()} - --port 0 --unixsocket socket", 1)
    running = subprocess.Popen(
        [shell, option, line], env={**os.environ, "REDISCLI_AUTH": "correct-horse"}, cwd=tmp_path
    )
    try:
        deadline = time.monotonic() + STARTS_WITHIN
        while not (tmp_path / "socket").exists():
            assert running.poll() is None and time.monotonic() < deadline, "it did not start"
            time.sleep(0.01)
        with Redis(unix_socket_path=str(tmp_path / "socket")) as stranger, pytest.raises(AuthenticationError):
            stranger.ping()
        with Redis(unix_socket_path=str(tmp_path / "socket"), password="correct-horse") as friend:
            assert friend.ping()
            assert friend.config_get("maxmemory")["maxmemory"] == str(256 * 2**20)
        assert "correct" not in Path(f"/proc/{running.pid}/cmdline").read_text()
    finally:
        running.kill()
        running.wait()


def test_nats_takes_its_settings_and_syncs_always() -> None:
    server = Path(sysconfig.get_path("scripts")) / "nats-server"
    tried = subprocess.run(
        [server, "-t", "-c", DEPLOY / "nats.conf"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NATS_PASSWORD": "password"},
    )
    assert tried.returncode == 0, tried.stderr
    unset = {name: value for name, value in os.environ.items() if name != "NATS_PASSWORD"}
    refused = subprocess.run([server, "-t", "-c", DEPLOY / "nats.conf"], capture_output=True, check=False, env=unset)
    assert refused.returncode != 0, "without a password it must not start"
    assert re.search(r"^\s+sync_interval: always$", (DEPLOY / "nats.conf").read_text(), re.MULTILINE)
    journal = settings().journal
    assert journal is not None and "sync=always" in journal.target


def test_the_image_copies_what_is_there_and_runs_as_nobody_special() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    for line in re.findall(r"^COPY (?!--from)(.+)$", text, re.MULTILINE):
        *sources, _ = line.split()
        assert all((ROOT / source).exists() for source in sources), line
    assert re.findall(r"^USER (.+)$", text, re.MULTILINE) == ["landfast"]
    assert text.index("USER landfast") < text.index("ENTRYPOINT")
    entry, command = (json.loads(re.search(rf"^{word} (.+)$", text, re.MULTILINE)[1]) for word in ("ENTRYPOINT", "CMD"))  # type: ignore[index]
    assert entry == ["landfast"]
    must_parse(command)
    assert not re.search(r"whsec|password|ENV \w*(SECRET|TOKEN)", text, re.IGNORECASE)
    (volume,) = re.findall(r"^VOLUME (.+)$", text, re.MULTILINE)
    spool = settings().spool
    assert spool is not None and spool.is_relative_to(volume)


def test_the_image_asks_after_its_health_where_it_is_answered() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    (url,) = re.findall(r"http://127.0.0.1:(\d+/\w+)'", text)
    port, _, path = url.partition("/")
    answer = vital_sign(Head("GET", f"/{path}", "", Headers(()), None), lambda: Readiness(is_ready=False, layers={}))
    assert answer is not None and answer.status == 200
    assert int(port) == settings().port
    assert f"EXPOSE {port}" in text


def test_the_unit_stops_reloads_and_keeps_what_it_must() -> None:
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[method-assign, assignment]
    unit.read(DEPLOY / "landfast.service")
    service = unit["Service"]
    must_parse(service["ExecStart"].split()[1:])
    assert service["ExecReload"].split()[1:] == ["-HUP", "$MAINPID"]
    assert (service["Type"], service["KillMode"], service["Restart"]) == ("notify", "mixed", "on-failure")
    assert int(service["TimeoutStopSec"]) > GRACE_SECONDS
    assert settings().spool == Path("/var/lib") / service["StateDirectory"] / "spool"


def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd here; the test above reads the unit without it")
    text = (DEPLOY / "landfast.service").read_text().replace("/opt/landfast/venv/bin/landfast", sys.executable)
    (tmp_path / "landfast.service").write_text(text)
    tried = subprocess.run(
        ["systemd-analyze", "verify", tmp_path / "landfast.service"], capture_output=True, text=True, check=False
    )
    ours = [line for line in tried.stderr.splitlines() if "landfast" in line]
    assert (tried.returncode, ours) == (0, [])


def test_every_command_of_the_page_exists() -> None:
    page = (ROOT / "docs/howto/deploy.md").read_text()
    lines = [line for block in re.findall(r"```\n(.*?)```", page, re.DOTALL) for line in block.splitlines()]
    commands = [re.split(r"\s{2,}", line)[0].split()[1:] for line in lines if line.startswith("landfast ")]
    assert len(commands) >= 8
    for words in commands:
        must_parse(words)
    for line in lines:
        named = re.findall(r"(?<![\w/.])deploy/[\w.]+", line)
        made = {"deploy/secrets", "deploy/.env"}
        assert not [path for path in named if path not in made and not (ROOT / path).exists()], line
    for names in re.findall(r"(?:--signal HUP|--no-deps) ([\w -]+)`", page):
        assert set(names.split()) <= compose()["services"].keys()
