"""The handlers of every example are right, and the prover says so."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers import Postgres

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
ELSEWHERE = {"sidecar_node"}
"""What has no handlers in Python."""
FOLDERS = sorted(
    folder.name
    for folder in EXAMPLES.iterdir()
    if folder.is_dir() and not folder.name.startswith("_") and folder.name not in ELSEWHERE
)
ORDERS = "CREATE TABLE IF NOT EXISTS orders (id serial PRIMARY KEY, payment_id text NOT NULL, amount int NOT NULL)"
"""What each of them makes when its application starts."""


def app_in(folder: Path) -> str:
    """The module that declares the inbox."""
    for file in sorted(folder.rglob("*.py")):
        if not file.name.startswith("test_") and "= Inbox(" in file.read_text():
            return ".".join(file.relative_to(folder).with_suffix("").parts) + ":inbox"
    raise AssertionError(f"{folder} has no inbox")


@pytest.mark.req("R64")
@pytest.mark.long
@pytest.mark.parametrize("example", FOLDERS)
def test_the_handlers_of_an_example_pass(
    example: str, tmp_path: Path, database: str, database_name: str, postgres: Postgres
) -> None:
    folder = tmp_path / example
    shutil.copytree(EXAMPLES / example, folder)
    command = [sys.executable, "-m", "landfast", "prove", app_in(folder), "--json"]
    environment = {**os.environ, "DATABASE_URL": database, "STRIPE_WEBHOOK_SECRET": "whsec_of_the_examples_and_nobody"}
    if (folder / "manage.py").exists():
        manage = [sys.executable, "manage.py"]
        subprocess.run([*manage, "migrate"], cwd=folder, env=environment, check=True, capture_output=True)
        command = [*manage, "landfast", "prove", "--json"]
    else:
        postgres.execute(ORDERS, database=database_name)
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert '"statements": 0' not in ended.stdout
    assert "landfast_prove" not in postgres.execute("SELECT datname FROM pg_database")
