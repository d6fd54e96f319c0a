"""Real Django projects: their own tests, under their own runner, on each database."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.storm import Example

INNER = Path(__file__).with_name("inner.py")


@pytest.mark.req("R13")
@pytest.mark.long
@pytest.mark.parametrize("kind", ["postgres", "sqlite"])
async def test_a_projects_own_tests_pass_on_its_test_database(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    env = {"DATABASE_URL": request.getfixturevalue("database")} if kind == "postgres" else {}
    project = Example(f"django_{kind}", tmp_path, store=str(tmp_path / "landfast.db"), env=env)
    (project.folder / "shop/tests.py").write_text(INNER.read_text())
    told = await project.run("-W", "error::ResourceWarning", "manage.py", "test", "shop", "--noinput")
    assert "OK" in told
    assert "Found 22 test(s)" in told
