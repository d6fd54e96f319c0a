"""A virtualenv for each peer, and Restate's server: made once, kept beside ours."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

from bench.peers import Peer
from bench.stage import ROOT

PLACE = ROOT / ".venv-peers"
RESTATE = "@restatedev/restate-server"
_PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
_PATIENCE_SECONDS = 900


class NotInstalledError(Exception):
    """A peer that this machine cannot have, in one line."""


def python(peer: Peer) -> str:
    if not peer.packages:
        return sys.executable
    folder = PLACE / peer.name.lower().replace(" ", "-")
    stamp = folder / hashlib.sha256(" ".join(peer.packages).encode()).hexdigest()[:16]
    if not stamp.exists():
        _run(sys.executable, "-m", "venv", "--clear", str(folder))
        _run(str(folder / "bin" / "python"), *_PIP, *peer.packages)
        stamp.touch()
    return str(folder / "bin" / "python")


def restate_server() -> str:
    program = PLACE / "node" / "node_modules" / ".bin" / "restate-server"
    if not program.exists():
        (PLACE / "node").mkdir(parents=True, exist_ok=True)
        _run("npm", "install", "--silent", "--prefix", str(PLACE / "node"), RESTATE)
    return str(program)


def _run(*command: str) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=_PATIENCE_SECONDS)
    except FileNotFoundError:
        raise NotInstalledError(f"{Path(command[0]).name} is not on this machine") from None
    except subprocess.TimeoutExpired:
        raise NotInstalledError(f"{Path(command[0]).name} took longer than {_PATIENCE_SECONDS} s") from None
    except subprocess.CalledProcessError as error:
        last = (error.stderr or "it said nothing").strip().splitlines()[-1]
        raise NotInstalledError(f"{Path(command[0]).name} failed: {last[:200]}") from None
