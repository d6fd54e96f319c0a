"""What somebody needs who takes the project over: its metadata, its workflow, its changelog."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from landfast.inboxes.postgres.housekeeping import OLDEST_SERVER
from tests.deploy import plain_yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW = plain_yaml.read((ROOT / ".github/workflows/tests.yml").read_text())
JOBS = WORKFLOW["jobs"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def runs(job: str) -> list[str]:
    return [step["run"] for step in JOBS[job]["steps"] if "run" in step]


def test_the_workflow_runs_what_the_makefile_has() -> None:
    made = {run.split()[1] for job in JOBS for run in runs(job) if run.startswith("make ")}
    assert {"check", "test", "audit", "requirements", "demo"} <= made <= TARGETS
    assert made - {"test"} <= {
        line.split()[1] for line in (ROOT / ".ci/run").read_text().splitlines() if line[:5] == "make "
    }


def test_the_matrix_is_what_the_project_says_it_runs_on() -> None:
    classifiers = [each.rpartition(" ")[2] for each in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", each)]
    assert JOBS["python"]["strategy"]["matrix"]["python"] == classifiers
    assert PROJECT["requires-python"] == f">={classifiers[0]}"
    assert int(JOBS["postgresql"]["strategy"]["matrix"]["postgresql"][0]) == OLDEST_SERVER


def test_what_a_job_uses_of_its_matrix_is_there() -> None:
    for job in JOBS.values():
        used = set(re.findall(r"matrix\.(\w+)", str(job)))
        assert used == set(job.get("strategy", {}).get("matrix", {}))


def test_the_folders_that_the_workflow_tests_exist() -> None:
    assert all((ROOT / folder).is_dir() for folder in JOBS["postgresql"]["env"]["TESTS"].split())
    assert "POSTGRES_BIN" in (ROOT / "tests/servers.py").read_text()


def test_what_pages_tell_people_to_make_can_be_made() -> None:
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        text = page.read_text()
        shown = "".join(re.findall(r"```.*?```", text, re.DOTALL))
        told = [*re.findall(r"`make ([a-z]+)", text), *re.findall(r"^make ([a-z]+)", shown, re.MULTILINE)]
        assert set(told) <= TARGETS, page.name


def test_the_changelog_is_kept() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    versions = re.findall(r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", text, re.MULTILINE)
    assert versions[0] == ("Unreleased", "")
    assert all(when for _, when in versions[1:])
    groups = set(re.findall(r"^### (.+)$", text, re.MULTILINE))
    assert groups <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security", "Known limits"}
    entries = re.split(r"^- ", text, flags=re.MULTILINE)[1:]
    assert not [entry for entry in entries if len(entry.partition("\n\n")[0]) > 420], "a wall of text"
    assert not re.search(r"^- .+\n(?:  .+\n)*\n- ", text, re.MULTILINE), "a stray blank line between two entries"


def test_the_rules_that_a_machine_keeps_are_those_that_people_are_told() -> None:
    tidy = (ROOT / "tests/test_tidy.py").read_text()
    limits = re.findall(r"^(?:LINES|FUNCTION)_AT_MOST = (\d+)", tidy, re.MULTILINE)
    told = re.search(r"Files of (\d+) lines at most, functions of (\d+)", (ROOT / "CONTRIBUTING.md").read_text())
    assert told is not None and len(limits) == 2
    assert all(int(said) <= int(kept) for said, kept in zip(told.groups(), limits, strict=True))
