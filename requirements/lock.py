"""Choose versions for everything that pyproject.toml names: with hashes, and with no index address in the files."""

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
    wanted = {"runtime": runtime, "dev": runtime + project["dependency-groups"]["dev"]}
    with tempfile.TemporaryDirectory() as folder:
        tools = Path(folder) / "tools"
        subprocess.run([sys.executable, "-m", "venv", str(tools)], check=True)
        subprocess.run([str(tools / "bin/pip"), "install", "--quiet", "pip-tools"], check=True)
        for name, requirements in wanted.items():
            source = Path(folder) / f"{name}.in"
            source.write_text("\n".join(requirements) + "\n")
            command = ["pip-compile", "--quiet", "--generate-hashes", "--strip-extras", "--allow-unsafe", *QUIET]
            target = ROOT / "requirements" / f"{name}.txt"
            subprocess.run([str(tools / "bin" / command[0]), *command[1:], "-o", str(target), str(source)], check=True)


if __name__ == "__main__":
    main()
