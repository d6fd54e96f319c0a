"""`make mutants`: each deliberate fault, and the tests that notice it. `python -m tests.mutants NAME ...` for a few."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tests.mutants.patches import ROOT, Mutant, PatchError, mutants

AT_ONCE = 2
"""Runs side by side: each starts a PostgreSQL, and tests with deadlines fail for the wrong reason on a busy machine."""

PATIENCE = 120.0
"""Seconds for the killing tests of one mutant; they take about five. One that hangs is not killed but only stuck."""


class Verdict(NamedTuple):
    name: str
    promise: str
    killed: bool
    why: str
    """The tests that failed, or what happened instead."""
    seconds: float


def main(wanted: Sequence[str]) -> int:
    chosen = [mutant for mutant in mutants() if not wanted or mutant.name in wanted]
    if unknown := set(wanted) - {mutant.name for mutant in chosen}:
        print(f"there is no mutant {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    started = time.monotonic()
    print("First the sources as they are: every killing test has to pass there.", flush=True)
    healthy = _try_healthy(chosen)
    if healthy:
        print(healthy)
        return 1
    width = max(len(mutant.name) for mutant in chosen)
    print(f"{'mutant':<{width}} | {'promise':<7} | seconds | killed by")
    with ThreadPoolExecutor(AT_ONCE) as runs:
        verdicts = []
        for verdict in runs.map(_try, chosen):
            verdicts.append(verdict)
            shown = verdict.why if verdict.killed else f"SURVIVED: {verdict.why}"
            print(f"{verdict.name:<{width}} | {verdict.promise:<7} | {verdict.seconds:7.1f} | {shown}", flush=True)
    killed = sum(verdict.killed for verdict in verdicts)
    print(f"{killed} of {len(verdicts)} mutants killed in {time.monotonic() - started:.0f} s")
    return 0 if killed == len(verdicts) else 1


def _try(mutant: Mutant) -> Verdict:
    started = time.monotonic()
    killed, why = _outcome(mutant)
    return Verdict(mutant.name, mutant.promise, killed, why, time.monotonic() - started)


def _outcome(mutant: Mutant) -> tuple[bool, str]:
    with tempfile.TemporaryDirectory(prefix="landfast-mutant-") as folder:
        try:
            mutant.copy(ROOT / "src", Path(folder) / "src")
        except PatchError as error:
            return False, f"its patch does not apply any more: {error}"
        code, output = _pytest(Path(folder), *mutant.kills)
    if code is None:
        return False, f"the tests did not end within {PATIENCE:.0f} s"
    if code != 1:  # 0 is success; from 2 on pytest itself was stopped, by an import error for one
        return False, "the tests pass" if code == 0 else f"pytest could not run the tests:\n{output[-2000:]}"
    failed = re.findall(r"^FAILED (.+?)(?: - .*)?$", output, re.MULTILINE)
    missed = [test for test in mutant.kills if not any(_is_of(each, test) for each in failed)]
    if missed:
        return False, f"passed or ended in an error: {', '.join(missed)}"
    return True, ", ".join(dict.fromkeys(test.rpartition("::")[2].partition("[")[0] for test in mutant.kills))


def _is_of(failed: str, test: str) -> bool:
    """The test itself, or one of its parameters."""
    return failed == test or failed.startswith((f"{test}[", f"{test.removesuffix(']')}-"))


def _try_healthy(chosen: Sequence[Mutant]) -> str:
    tests = sorted({test for mutant in chosen for test in mutant.kills})
    with tempfile.TemporaryDirectory(prefix="landfast-mutant-") as folder:
        try:
            Mutant("", "", "", (), "").copy(ROOT / "src", Path(folder) / "src")
            code, output = _pytest(Path(folder), "-n", str(AT_ONCE), *tests)
        except OSError as error:
            return str(error)
    return "" if code == 0 else f"the killing tests fail on healthy sources, so they prove nothing:\n{output[-4000:]}"


def _pytest(folder: Path, *arguments: str) -> tuple[int | None, str]:
    """The exit code, None if it did not end, and everything it said. The copy comes first on the path."""
    command = [sys.executable, "-m", "pytest", "-q", "-rf", "--tb=line", "-p", "no:cacheprovider", *arguments]
    environment = os.environ | {"PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "500"}
    environment |= {"LANDFAST_PATIENCE_SECONDS": str(PATIENCE / 12)}  # for what the mutant keeps from coming
    run = subprocess.Popen(
        [*command, f"--basetemp={folder / 'tmp'}"],
        cwd=ROOT,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = run.communicate(timeout=PATIENCE * (1 if "-n" not in arguments else 3))
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
        return None, ""
    return run.returncode, output


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
