"""What somebody needs who takes the project over: its metadata, its workflow, its changelog."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from landfast.inboxes.postgres.housekeeping import OLDEST_SERVER

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW = (ROOT / ".github/workflows/tests.yml").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
MADE = re.compile(r"(?<![\w-])make ([a-z]+)\b(?! (?:it|a|of|the|an)\b)")


def matrix(name: str) -> list[str]:
    (listed,) = re.findall(rf"^ +{name}: \[(.+)\]$", WORKFLOW, re.MULTILINE)
    return re.findall(r'"([\d.]+)"', listed)


def test_the_workflow_runs_what_the_makefile_has() -> None:
    runs = re.findall(r"^ +- run: (.+)$", WORKFLOW, re.MULTILINE)
    made = [name for run in runs for name in MADE.findall(run)]
    assert {"check", "test", "audit", "requirements", "demo"} <= set(made) <= TARGETS


def test_the_workflow_is_set_as_yaml_wants_it() -> None:
    """There is no YAML reader among our tools: tabs, odd indentation and an open bracket are what goes wrong by hand."""
    lines = [line for line in WORKFLOW.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    assert not [line for line in lines if "\t" in line or (len(line) - len(line.lstrip())) % 2]
    assert not [line for line in lines if not re.match(r" *(- )?[\w-]+:( .*)?$", line)]
    assert all(WORKFLOW.count(one) == WORKFLOW.count(other) for one, other in ("[]", "{}"))
    assert [line[:-1] for line in lines if re.match(r"\w+:$", line)] == ["on", "permissions", "jobs"]


def test_the_matrix_is_what_the_project_says_it_runs_on() -> None:
    classifiers = [each.rpartition(" ")[2] for each in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", each)]
    assert matrix("python") == classifiers
    assert PROJECT["requires-python"] == f">={classifiers[0]}"
    assert int(matrix("postgresql")[0]) == OLDEST_SERVER


def test_the_folders_that_the_workflow_tests_exist() -> None:
    named = re.findall(r'TESTS="([^"]+)"', WORKFLOW)
    assert named and all((ROOT / folder).is_dir() for each in named for folder in each.split())


def test_what_pages_tell_people_to_make_can_be_made() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / ".ci/run"]
    told = {
        (page.name, name)
        for page in pages
        for name in re.findall(r"`make ([a-z]+)|^make ([a-z]+)", page.read_text(), re.MULTILINE)
    }
    assert not [(page, name) for page, names in told for name in names if name and name not in TARGETS]


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
