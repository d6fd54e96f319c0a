"""Choose versions for everything that pyproject.toml names: with hashes, and with no index address in the files.

Names of files (`bench`) choose which are made; without any, all are.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
QUIET = ("--no-emit-index-url", "--no-emit-trusted-host", "--no-emit-find-links", "--no-header", "--no-annotate")


def main() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    runtime = project["project"]["dependencies"]
    optional = project["project"]["optional-dependencies"]
    extras = optional["redis"] + optional["jetstream"]  # what a server may need; pytest is in dev
    groups = project["dependency-groups"]
    # The benchmark is installed on top of dev, so it takes the versions that dev has.
    dev = runtime + extras + optional["top"] + groups["dev"] + groups["oracles"] + groups["stacks"] + groups["site"]
    # What builds the package is in dev, too: the same versions.
    build = ["-c dev.txt", *project["build-system"]["requires"]]
    wanted = {
        "runtime": runtime,
        "extras": ["-c runtime.txt", *extras],
        "dev": dev,
        "build": build,
        "bench": ["-c dev.txt", *groups["bench"]],
    }
    wanted = {name: wanted[name] for name in sys.argv[1:] or wanted}
    with tempfile.TemporaryDirectory() as folder:
        tools = Path(folder) / "tools"
        subprocess.run([sys.executable, "-m", "venv", str(tools)], check=True)
        subprocess.run([str(tools / "bin/pip"), "install", "--quiet", "pip-tools"], check=True)
        for name, requirements in wanted.items():
            source = Path(folder) / f"{name}.in"
            lines = [line.replace("-c ", f"-c {ROOT / 'requirements'}/") for line in requirements]
            source.write_text("\n".join(lines) + "\n")
            command = ["pip-compile", "--quiet", "--generate-hashes", "--strip-extras", "--allow-unsafe", *QUIET]
            target = ROOT / "requirements" / f"{name}.txt"
            subprocess.run([str(tools / "bin" / command[0]), *command[1:], "-o", str(target), str(source)], check=True)


if __name__ == "__main__":
    main()
