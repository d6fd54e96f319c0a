"""Whole processes: `landfast serve` with a sink in landfast.toml looks and tells by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from landfast.demo.load import Connection
from landfast.demo.sender import Sender
from tests.alerting.receivers import HttpReceiver
from tests.shops import ORDER, sqlite_shop, until

SETTINGS = """
[alerts]
every = 1
refusals_at_least = 8
[alerts.sinks.team]
kind = "slack"
url = "env:SLACK_WEBHOOK_URL"
"""


@pytest.mark.req("R41")
async def test_a_server_tells_slack_that_everything_is_refused(tmp_path: Path) -> None:
    shop = sqlite_shop(tmp_path)
    await shop.create_orders()
    shop.write(ORDER)
    (tmp_path / "landfast.toml").write_text(SETTINGS)
    async with HttpReceiver().listening() as slack:
        shop.settings["SLACK_WEBHOOK_URL"] = slack.url
        async with shop.serving() as serve:
            stranger, connection = Sender("whsec_of_somebody_else_altogether"), Connection(serve.port)
            for number in range(8):
                body = stranger.payment(f"evt_{number}")
                assert await connection.send(stranger.delivery(body)) == 401
                if number == 0:  # some time after the refusal
                    await until(lambda: "cause=no-secret-matches" in (tmp_path / "serve.log").read_text(), True)
            connection.close()
            await until(lambda: len(slack.got), 1)
            code, out, _ = await shop.run("alerts", "list", "--app", "shop.py")
    assert code == 1
    assert "only-refusals/stripe: All 8 requests to stripe were refused in 5 minutes: no-secret-matches." in out
    assert (
        slack.got[0].json["text"].startswith("*[firing] only-refusals/stripe*\nAll 8 requests to stripe were refused")
    )
