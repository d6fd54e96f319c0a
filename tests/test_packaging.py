"""What is built, and what it is on a machine that has nothing else: files, dependencies, imports, the first example."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import time
import tomllib
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.authorities import as_given
from tests.free_port import free_port
from tests.patience import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src/landfast"
DOCKERFILE = (ROOT / "deploy/user/Dockerfile").read_text()
OLDEST = (3, 11)
WITHIN = PATIENCE_SECONDS
"""Seconds for what other processes have to do."""

DEPENDENCIES = {
    "apsw": "SQLite, of a version that has no known corruption bug",
    "asyncpg": "PostgreSQL",
    "click": "the commands",
    "cryptography": "signatures that are no HMAC, and what is sealed",
    "httptools": "HTTP",
    "jinja2": "the pages of the dashboard: escaped throughout, which nobody should write again",
    "msgspec": "JSON",
    "rich": "tables in a terminal",
    "starlette": "the admin API and its pages; intake is an HTTP server of our own, for speed and for its edges",
    "uvicorn": "serves the admin API, in a process of its own",
    "uvloop": "the event loop",
}
"""All that an installation brings along, and why. One more is one more to review, to update and to trust."""

NOT_IMPORTED = {"asyncpg", "apsw", "cryptography", "click", "rich", "uvloop", "httptools", "msgspec", "asyncio", "ssl"}
STACKS = {"sqlalchemy", "django", "flask", "litestar", "starlette", "fastapi", "psycopg", "psycopg2", "alembic"}
TOOLS = {"pytest", "redis", "nats", "rich", "landfast.demo", "landfast.testing", "landfast.cli"}


def test_the_core_needs_few_packages_and_each_has_its_reason() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert {re.split(r"[^\w-]", each)[0] for each in declared} == DEPENDENCIES.keys()


def imported_by(code: str) -> set[str]:
    command = [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def test_importing_landfast_imports_next_to_nothing() -> None:
    """A tool that wants the version, or completes a name, does not wait for drivers."""
    ours = imported_by("import landfast") - imported_by("pass")
    assert not ours & NOT_IMPORTED
    assert {name for name in ours if name.startswith("landfast")} == {"landfast"}


def test_an_application_imports_no_stack_that_it_does_not_use() -> None:
    ours = imported_by("from landfast import Inbox, Event, Transaction, Effect")
    assert not ours & (STACKS | TOOLS)


def test_declaring_handlers_waits_for_nothing_that_opens_or_runs_them() -> None:
    """A third of a second, for a host that imports its inbox in every process, also in those that never use it."""
    found = imported_by("from landfast import Inbox")
    late = {
        "asyncio",
        "asyncpg",
        "cryptography",
        "landfast.providers",
        "landfast.processing.worker",
        "landfast.web.asgi",
    }
    assert not found & late


def test_help_waits_for_no_driver() -> None:
    code = "from landfast.cli import main; import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()): main(['--help'])\nimport sys"
    command = [sys.executable, "-c", f"{code}; print(*sys.modules)"]
    found = set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    assert not found & (
        STACKS | TOOLS - {"landfast.cli"} | {"asyncpg", "apsw", "cryptography", "uvloop", "landfast.app"}
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source archive, made without a network."""
    folder = tmp_path_factory.mktemp("dist")
    made = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", folder],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    return folder


@pytest.mark.long
def test_the_wheel_has_every_file_of_the_package_and_nothing_else(built: Path) -> None:
    assert in_wheel(built) == on_disk()
    assert {"landfast/py.typed", "landfast/__main__.py"} <= in_wheel(built)
    assert len([name for name in in_wheel(built) if name.endswith(".sql")]) > 50


@pytest.mark.long
def test_the_source_archive_can_be_read_tested_and_built_from(built: Path, tmp_path: Path) -> None:
    """Whoever packages it for a distribution has the tests, the pages and what builds them."""
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
        opened.extractall(tmp_path, filter="data")
    wanted = {"LICENSE", "README.md", "CHANGELOG.md", "Makefile", "pyproject.toml", "mkdocs.yml", "docs/tutorial.md"}
    wanted |= {"tests/conftest.py", "requirements/runtime.txt", "deploy/kubernetes/worker.yaml"}
    assert wanted <= names and any(name.startswith("examples/") for name in names)
    stray = re.compile(r"(^|/)(\.venv[^/]*|__pycache__|dist|\.git|\.[a-z]+_cache)/|\.db$|\.pyc$|^\.coverage")
    assert not [name for name in names if stray.search(name)]
    (folder,) = tmp_path.iterdir()
    again = tmp_path / "again"
    made = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", again],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    assert in_wheel(again) == in_wheel(built)


def in_wheel(folder: Path) -> set[str]:
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        return {name for name in opened.namelist() if ".dist-info/" not in name}


def on_disk() -> set[str]:
    files = [file for file in SOURCE.rglob("*") if file.is_file() and "__pycache__" not in file.parts]
    return {str(file.relative_to(SOURCE.parent)) for file in files}


def interpreters() -> dict[str, str]:
    """The oldest and the newest minor version that the machine has and Landfast runs on: this one, pyenv's, what is on the
    PATH."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = {sys.version_info[:2]: sys._base_executable}  # type: ignore[attr-defined]
    for python in sorted(root.glob("versions/3.*.*/bin/python3")):
        major, minor, *_ = map(int, re.findall(r"\d+", python.parts[-3]))
        if (major, minor) >= OLDEST:
            found.setdefault((major, minor), str(python))
    for number in range(OLDEST[1], 30):
        if named := shutil.which(f"python3.{number}"):
            found.setdefault((3, number), named)
    ends = {min(found), max(found)}  # what runs on the oldest and on the newest runs between them
    return {f"{version[0]}.{version[1]}": found[version] for version in sorted(ends)}


PYTHONS = interpreters()


@pytest.mark.long
@pytest.mark.parametrize("version", PYTHONS)
def test_an_empty_virtualenv_runs_the_first_example_of_the_readme(version: str, built: Path, tmp_path: Path) -> None:
    """Installed as deploy/user/Dockerfile says, by its own lines: there is no Docker here."""
    project, venv = tmp_path / "project", tmp_path / "venv"
    (project / "wheels").mkdir(parents=True)
    shutil.copy(ROOT / "requirements/runtime.txt", project / "requirements.txt")
    for wheel in built.glob("*.whl"):
        shutil.copy(wheel, project / "wheels")
    (example, *_) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    (project / "shop.py").write_text(example)
    (project / "landfast.toml").write_text('app = "shop:inbox"\n')
    changes = {"python -m venv": f"{PYTHONS[version]} -m venv", "/venv": str(venv), "--no-cache-dir ": ""}
    for line in steps("venv"):
        for said, here in changes.items():
            line = line.replace(said, here)  # noqa: PLW2901 - the same line, as it is here
        run_or_skip(line, project)
    env = clean_environment(venv)
    for line in steps("landfast sources list"):
        assert "stripe" in run(line, project, env), "the build's last look"
    assert "Usage: landfast" in run("landfast --help", project, env)
    env |= {"STRIPE_WEBHOOK_SECRET": "whsec_of_the_packaging_test", "LANDFAST_PORT": str(free_port())}
    with serving(project, env):
        assert '"status":"stored"' in run("landfast send stripe payment_intent.succeeded", project, env)
        until(lambda: '"done"' in run("landfast events list --json", project, env).replace('"state": ', ""))
    assert "lost 0   doubled 0" in run("landfast proof", project, env)
    with closing(sqlite3.connect(project / "shop.db")) as db:
        assert db.execute("SELECT count(*) FROM orders").fetchone() == (1,)


def steps(word: str) -> list[str]:
    """The RUN lines of the Dockerfile that have this word in them."""
    lines = re.findall(r"^RUN (.+)$", DOCKERFILE, re.MULTILINE)
    found = [line for line in lines if word in line and "useradd" not in line]
    assert found
    return found


def run_or_skip(command: str, folder: Path) -> None:
    ended = subprocess.run(
        ["sh", "-c", command], cwd=folder, env=clean_environment(), capture_output=True, text=True, check=False
    )
    said = ended.stdout + ended.stderr
    if ended.returncode and re.search(r"No matching distribution|Could not find a version|NewConnectionError", said):
        pytest.skip(f"no index has what requirements/runtime.txt pins for this Python: {said.splitlines()[-1]}")
    if ended.returncode and re.search(r"ensurepip is not|No module named venv|command not found", said):
        pytest.skip(f"this Python makes no virtualenv: {said.splitlines()[0]}")
    assert ended.returncode == 0, said


def run(command: str, folder: Path, env: dict[str, str]) -> str:
    ended = subprocess.run(["sh", "-c", command], cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def clean_environment(venv: Path | None = None) -> dict[str, str]:
    """Nothing of the tests' own virtualenv, and no settings of Landfast; pip trusts whom the machine trusts."""
    ours = {name: value for name, value in as_given().items() if not name.startswith(("LANDFAST_", "PYTHON", "COV_"))}
    ours.pop("VIRTUAL_ENV", None)
    path = [str(venv / "bin")] if venv else []
    others = [each for each in os.environ["PATH"].split(os.pathsep) if each != str(Path(sys.executable).parent)]
    return ours | {"PATH": os.pathsep.join([*path, *others])}


@contextmanager
def serving(folder: Path, env: dict[str, str]) -> Iterator[None]:
    with (folder / "serve.log").open("wb") as log:
        server = subprocess.Popen(
            ["landfast", "serve"],
            cwd=folder,
            env=env,
            executable=shutil.which("landfast", path=env["PATH"]),
            stdout=log,
            stderr=log,
        )
    try:
        until(lambda: is_up(env["LANDFAST_PORT"]), (folder / "serve.log").read_text)
        yield
        server.terminate()
        assert server.wait(WITHIN) == 0
    finally:
        server.kill()
        server.wait()


def is_up(port: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=PATIENCE_SECONDS) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def until(look: object, story: object = lambda: "") -> None:
    deadline = time.monotonic() + WITHIN
    while not look():  # type: ignore[operator]
        assert time.monotonic() < deadline, story()  # type: ignore[operator]
        time.sleep(0.05)
