"""The dashboard and the rules of deploy/: every metric and label that they name is one that `/metrics` prints."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from landfast.app import Inbox
from landfast.app.metrics import READ_FROM_THE_INBOX, read
from landfast.telemetry.exposition import Sums, text
from landfast.telemetry.metrics import FAMILIES, Histogram
from landfast.testing import TestInbox
from tests.deploy import plain_yaml
from tests.deploy.test_deploy import DEPLOY, ROOT

RULES = DEPLOY / "prometheus/rules.yml"
BOARD = DEPLOY / "grafana/landfast.json"
FUNCTIONS = {
    *("sum", "max", "min", "rate", "increase", "histogram_quantile", "time", "by", "on", "and", "unless", "or"),
    *("offset", "label_values"),
}
OF_PROMETHEUS = {"up": {"job", "instance"}}
LABELS_OF_A_SCRAPE = {"instance", "job"}


def expressions() -> Iterator[tuple[str, str]]:
    for group in plain_yaml.read(RULES.read_text())["groups"]:
        for rule in group["rules"]:
            yield rule["alert"], rule["expr"]
    for panel in json.loads(BOARD.read_text())["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]


def labels_of(name: str) -> set[str] | None:
    """Those that a name may have in an expression; None where it is not printed."""
    for suffix in ("_bucket", "_sum", "_count"):
        family = FAMILIES.get(name.removesuffix(suffix))
        if name.endswith(suffix) and isinstance(family, Histogram):
            return {*family.labels, *(["le"] if suffix == "_bucket" else [])}
    if name in FAMILIES and not isinstance(FAMILIES[name], Histogram):
        return set(FAMILIES[name].labels)
    return set(READ_FROM_THE_INBOX[name][0].split()) if name in READ_FROM_THE_INBOX else OF_PROMETHEUS.get(name)


@pytest.mark.parametrize(("title", "expression"), list(expressions()))
def test_an_expression_names_metrics_and_labels_that_there_are(title: str, expression: str) -> None:
    for opening, closing in ("()", "{}", "[]"):
        assert expression.count(opening) == expression.count(closing)
    expression = expression.replace("'", '"')
    bare = re.sub(r'"[^"]*"|\[[^]]*]|\$\w+', " ", expression)
    named = set(re.findall(r"[a-zA-Z_]\w*", re.sub(r"\{[^}]*}|\b(?:by|on) \([^)]*\)", " ", bare)))
    metrics = {word for word in named if word not in FUNCTIONS and not re.fullmatch(r"\d*[smhd]", word)}
    known = {name: labels_of(name) for name in metrics}
    assert metrics and None not in known.values(), known
    allowed = set().union(*(labels or () for labels in known.values())) | LABELS_OF_A_SCRAPE
    asked = set(re.findall(r"(\w+)\s*(?:=~|!=|!~|=)\s*\"", expression.replace("==", "")))
    asked |= {label for part in re.findall(r"\b(?:by|on) \(([^)]*)\)", expression) for label in part.split(", ")}
    assert asked <= allowed


def test_nothing_that_is_printed_is_missing_on_the_dashboard() -> None:
    shown = " ".join(expression for _, expression in expressions())
    assert not [name for name in (*FAMILIES, *READ_FROM_THE_INBOX) if name not in shown]


def test_each_alert_says_what_is_the_matter_and_what_to_do() -> None:
    rules: list[dict[str, Any]] = [
        rule for group in plain_yaml.read(RULES.read_text())["groups"] for rule in group["rules"]
    ]
    assert len({rule["alert"] for rule in rules}) == len(rules) > 10
    for rule in rules:
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert all(rule["annotations"][each].endswith(".") for each in ("summary", "description"))
        assert (ROOT / rule["annotations"]["runbook"]).is_file()


async def test_what_is_read_from_the_inbox_is_printed_under_the_names_that_are_promised() -> None:
    inbox = Inbox()
    inbox.source("shop", provider="stripe", secrets=["env:NONE"])
    async with TestInbox(inbox) as test:
        await test.deliver("shop", type="payment_intent.succeeded")
        printed = text(Sums(), await read(test.archive, ["handler:pay", "dependency:mailer"])).decode()
    families = {family.name: family for family in text_string_to_metric_families(printed)}
    assert set(READ_FROM_THE_INBOX) <= set(families)
    assert {sample.labels["state"]: sample.value for sample in families["landfast_events"].samples}["ready"] == 1
    [oldest] = families["landfast_oldest_ready_seconds"].samples
    assert 0 <= oldest.value < 60
