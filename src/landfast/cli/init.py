"""`landfast init`."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from landfast.cli.options import json_option
from landfast.cli.output import say, say_json
from landfast.domain.errors import UserError

KINDS = ("plain", "fastapi", "litestar", "flask", "django")
PROJECTS = Path(__file__).parent / "projects"
"""What each of them begins with, in files that end in `.txt` because they are none of ours."""

PARTS = {kind: ("every", "handlers", kind) for kind in KINDS} | {"django": ("every", "django")}
"""Folders of `projects`. Django has its handlers in an app."""

NAMES = {"env": ".env", "gitignore": ".gitignore"}
MAY_BE_THERE = frozenset(NAMES.values())
"""Files that a project has for other reasons, too. They are left as they are, and what is missing in them is told."""

NEEDS = {
    "fastapi": ("fastapi", "uvicorn"),
    "litestar": ("litestar", "uvicorn"),
    "flask": ("flask",),
    "django": ("django",),
}
"""Packages that Landfast does not bring along, and what it writes imports."""

WORK_AND_LOOK = "landfast serve --role worker --admin-port 8421"
"""Handlers, and the dashboard, beside a server of somebody else's."""

SEND = "landfast send stripe payment_intent.succeeded"
NEXT = {
    "plain": ("landfast serve", SEND),
    "fastapi": ("uvicorn app:app --reload", f"{SEND} --url http://127.0.0.1:8000/hooks"),
    "litestar": ("uvicorn app:app --reload", f"{SEND} --url http://127.0.0.1:8000/hooks"),
    "flask": ("flask run", WORK_AND_LOOK, f"{SEND} --url http://127.0.0.1:5000/hooks"),
    "django": (
        "python manage.py migrate && python manage.py runserver",
        f"python manage.py {WORK_AND_LOOK}",
        f"python manage.py {SEND} --url http://127.0.0.1:8000/hooks",
    ),
}
"""The server, what else runs beside it, and a first webhook: each in a terminal of its own."""

LOOK_BESIDE = "landfast serve --role intake --port 0 --admin-port 8421, and http://127.0.0.1:8421"
LOOK = {"fastapi": LOOK_BESIDE, "litestar": LOOK_BESIDE}
"""Where handlers run inside of the server, the dashboard needs a process that runs none."""

PRIVATE = 0o600
"""It holds a secret."""


@click.command()
@click.argument("kind", type=click.Choice(KINDS), default="plain")
@json_option
def init(*, kind: str, as_json: bool) -> None:
    """Write a small project here that works: a handler, its test, settings for git, and a secret that git does not see.

    KIND is what serves it: plain (landfast serve, the default), fastapi, litestar, flask or django. Nothing is ever
    overwritten."""
    drawn = f"whsec_{secrets.token_hex(16)}"
    wanted = _files(kind, drawn)
    there = {name for name in wanted if Path(name).exists()}
    for name in sorted(there - MAY_BE_THERE):
        raise UserError(f"init: {name} is here already; remove it first, or run init in an empty directory")
    written = [name for name in wanted if name not in there]
    for name in written:
        # Crash between two: the next init names the first one, and nobody's work is lost.
        _write(name, wanted[name])
    first = [f"pip install {' '.join(needed)}" for needed in [missing(kind)] if needed]
    todo = [*first, *_todo(there, drawn), *NEXT[kind]]
    if as_json:
        say_json({"wrote": written, "next": todo})
        return
    *most, last = written
    say(f"wrote {', '.join(most)} and {last}")
    for word, command in zip(["next:", *["then:"] * len(todo)], todo, strict=False):
        say(f"{word}  {command}")
    say("test:  python -m pytest")
    say("look:  " + LOOK.get(kind, "http://127.0.0.1:8421"))


def missing(kind: str, find: Callable[[str], Any] = find_spec) -> list[str]:
    """What has to be installed before it runs."""
    return [name for name in (*NEEDS.get(kind, ()), "pytest") if find(name) is None]


def _files(kind: str, secret: str) -> dict[str, str]:
    """By their names."""
    found: dict[str, str] = {}
    for part in PARTS[kind]:
        folder = PROJECTS / part
        for file in sorted(folder.rglob("*.txt")):
            name = str(file.relative_to(folder).with_suffix(""))
            found[NAMES.get(name, name)] = file.read_text("utf-8")
    return found | {".env": found[".env"].replace("whsec_{secret}", secret)}


def _todo(there: set[str], secret: str) -> list[str]:
    """What a file needs that was here already."""
    todo = []
    if ".gitignore" in there and ".env" not in Path(".gitignore").read_text("utf-8", "replace").split():
        todo.append("write .env into .gitignore: it holds a secret")
    if ".env" in there and "STRIPE_WEBHOOK_SECRET" not in Path(".env").read_text("utf-8", "replace"):
        todo.append(f"write STRIPE_WEBHOOK_SECRET={secret} into .env")
    return todo


def _write(name: str, text: str) -> None:
    mode = PRIVATE if name == ".env" else 0o666
    try:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode), "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UserError(f"init: {name} cannot be written here: {error.strerror}") from None
