"""`landfast doctor`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import click

from landfast.app.full_checkup import examine
from landfast.cli import NEGATIVE
from landfast.cli.options import app_option, find_inbox, json_option, run, without_app
from landfast.cli.output import safe, say, say_json
from landfast.domain.errors import LandfastError
from landfast.recovery.doctor import Check, failed, is_well


@click.command()
@click.option("--strict", is_flag=True, help="Exit 1 for warnings, too.")
@app_option
@json_option
def doctor(*, strict: bool, app: str | None, as_json: bool) -> int:
    """Look at the configuration, the secrets, both databases, and at what flows. Exit 1 when something must be put
    right, and 0 when not: for cron."""
    checks = _examine(app)
    well = is_well(checks, strict=strict)
    if as_json:
        say_json({"well": well, "checks": [asdict(check) for check in checks]})
    else:
        say_checks(checks)
    return 0 if well else NEGATIVE


def say_checks(checks: Sequence[Check]) -> None:
    told = set()
    for check in checks:
        say(f"{check.level:<4}  {safe(check.name)}: {safe(check.found)}")
        if check.fix and check.fix not in told:  # one migration mends both databases
            say(f"      fix: {safe(check.fix)}")
        told.add(check.fix)


def _examine(app: str | None) -> Sequence[Check]:
    try:
        inbox = find_inbox(app)
    except LandfastError as error:
        return [failed("configuration", error)]
    return run(examine(inbox, hint=without_app(app)))
