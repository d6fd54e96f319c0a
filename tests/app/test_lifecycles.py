"""What is wrong with a rule is said when a process starts, in one sentence that names the fix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from landfast.app import Inbox
from landfast.domain.errors import ConfigError
from landfast.domain.patterns import overlap

GIVEN: dict[str, Any] = {
    "states": ["paid", "refunded"],
    "transitions": {"absent": "paid", "paid": "refunded"},
    "state_of": {"payment.*": "paid", "refund.created": "refunded"},
    "deadline": 60.0,
}


@pytest.fixture
def inbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Inbox:
    monkeypatch.chdir(tmp_path)
    inbox = Inbox()
    inbox.source("stripe", provider="stripe", secrets=["whsec_" + "a" * 32])
    return inbox


async def handle(event: Any, tx: Any) -> None: ...


@pytest.mark.req("R28")
@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"states": ["paid", "refunded", "lost"]}, "no type of state_of leads to 'lost'; add one, or remove the state"),
        ({"state_of": "s", "states": ["paid", "refunded", "lost"]}, "'lost' cannot be reached from 'absent'"),
        ({"transitions": {"absent": "payed"}}, r"transitions\['absent'\] has 'payed', .*did you mean 'paid'"),
        ({"transitions": {"absent": "paid", "payd": "refunded"}}, "transitions has 'payd', .*did you mean 'paid'"),
        ({"transitions": {"paid": "refunded"}}, "nothing leads on from 'absent', so no entity ever begins"),
        ({"state_of": {"payment.*": "payed"}}, r"state_of\['payment.\*'\] has 'payed', which is not in states"),
        ({"states": ["paid", "paid"]}, "in states, 'paid' stands there twice"),
        ({"states": ["absent", "paid"]}, "in states, 'absent' is every entity's first state"),
        ({"states": ["", "paid"]}, "'' is no name"),
        ({"deadline": 0}, "deadline is 0; it must be a number of seconds, more than 0"),
        ({"on_deadline": "wait"}, "on_deadline is 'wait'; it is 'dead' or 'run'"),
        ({"state_of": "data..status"}, "state_of is 'data..status'; it is a path in the data"),
        ({"state_of": "$.data.status"}, r"state_of is '\$.data.status'; it is a path in the data"),
        ({"entity": "data. object"}, "entity is 'data. object'; it is a path in the data"),
        ({"entity": {"*": 3}}, r"entity\['\*'\] is 3; it is a path in the data"),
    ],
)
def test_a_lifecycle_that_cannot_be_meant_is_refused(inbox: Inbox, changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=f"lifecycle order: .*{sentence}"):
        inbox.lifecycle("order", **(GIVEN | changed))


@pytest.mark.req("R28")
def test_a_lifecycle_and_its_handlers_must_fit(inbox: Inbox) -> None:
    inbox.lifecycle("order", **GIVEN)
    with pytest.raises(ConfigError, match="lifecycle order: it is there already"):
        inbox.lifecycle("order", **GIVEN)
    with pytest.raises(ConfigError, match="lifecycle order: no handler has it"):
        inbox.check_declared()
    inbox.on("stripe", "payment.*", lifecycle="order", name="pay")(handle)
    with pytest.raises(ConfigError, match=r"state_of has 'refund.created', which no handler of this lifecycle takes"):
        inbox.check_declared()
    inbox.on("stripe", "refund.*", lifecycle="order", name="refund")(handle)
    inbox.check_declared()
    inbox.on("stripe", "*.created", lifecycle="order", name="created")(handle)
    with pytest.raises(ConfigError, match=r"the handlers .* can take the same event, and only one of them"):
        inbox.check_declared()


@pytest.mark.req("R28")
def test_a_lifecycle_that_is_misspelt_is_found(inbox: Inbox) -> None:
    inbox.lifecycle("order", **GIVEN)
    inbox.on("stripe", "*", lifecycle="ordr")(handle)
    with pytest.raises(ConfigError, match="handler handle: there is no lifecycle 'ordr'; did you mean 'order'"):
        inbox.check_declared()


@pytest.mark.req("R27")
def test_a_source_that_cannot_say_what_is_newest_is_refused(inbox: Inbox) -> None:
    inbox.source("files", provider="dropbox", secrets=["a" * 32])
    inbox.source("repository", provider="github", secrets=["a" * 32])
    inbox.source("host", provider="gitlab", secrets=["a" * 32])
    registered = inbox.registry.handlers
    for source, newest_only, sentence in (
        ("files", "version", "newest_only needs to know what an event is about, and dropbox does not say"),
        ("repository", True, "newest_only=True goes by the time of the sender, which is not there"),
        ("host", True, "newest_only=True goes by the time of the sender, which is that of the object"),
    ):
        registered.clear()
        inbox.on(source, "*", newest_only=newest_only)(handle)
        with pytest.raises(ConfigError, match=f"handler handle: {sentence}"):
            inbox.check_declared()
    registered.clear()
    inbox.on("repository", "*", newest_only="repository.pushed_at")(handle)
    inbox.check_declared()


@pytest.mark.req("R27")
def test_with_ordered_by_a_handler_says_itself_what_the_newest_is_of(inbox: Inbox) -> None:
    inbox.source("shop", provider="stripe", secrets=["a" * 32], ordered_by="data.object.customer")
    inbox.on("shop", "*", newest_only=True)(handle)
    with pytest.raises(ConfigError, match=r"would go by ordered_by of source shop, .* and pass over"):
        inbox.check_declared()
    inbox.registry.handlers.clear()
    inbox.on("shop", "*", newest_only=True, entity="data.object.id")(handle)
    inbox.check_declared()
    with pytest.raises(ConfigError, match="entity is what newest_only goes by, and this handler has none"):
        inbox.on("shop", "*", ordered=True, entity="data.object.id", name="other")(handle)
    with pytest.raises(ConfigError, match=r"entity is 'data\.'; it is a path in the data"):
        inbox.on("shop", "*", newest_only=True, entity="data.", name="other")(handle)


@pytest.mark.req("R29")
@pytest.mark.parametrize("place", ["data..id", ".", "$.data.object.id", "header:", "header:X Event"])
def test_an_order_by_what_no_request_has_is_refused(inbox: Inbox, place: str) -> None:
    with pytest.raises(ConfigError, match=r"is no place in a request: write body:data\.id or header:X-Event-Id"):
        declare(inbox, place)
    with pytest.raises(ConfigError, match="handler handle: ordered is 'yes'; it is True or False"):
        inbox.on("stripe", "*", ordered="yes")(handle)  # type: ignore[arg-type]


def declare(inbox: Inbox, place: str) -> None:
    inbox.source("shop", provider="stripe", secrets=["a" * 32], ordered_by=place)
    inbox.check_declared()


def test_an_option_that_is_misspelt_is_one_sentence_with_the_one_that_was_meant(inbox: Inbox) -> None:
    given: dict[str, Any] = {"atempts": 3}
    with pytest.raises(ConfigError, match="on: there is no option 'atempts'; did you mean 'attempts'"):
        inbox.on("stripe", "*", **given)
    with pytest.raises(ConfigError, match="effect: there is no option 'atempts'; did you mean 'attempts'"):
        inbox.effect(**given)
    with pytest.raises(ConfigError, match="there is no option 'colour'; it has source, pattern, name"):
        inbox.on("stripe", "*", colour=1)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("a.b", "a.b", True),
        ("a.*", "a.b", True),
        ("a.*", "*.b", True),
        ("*", "", True),
        ("a.*", "b.*", False),
        ("a.*.c", "a.b", False),
        ("a*b*c", "axxbyyc", True),
        ("a*b", "a*c", False),
    ],
)
def test_patterns_overlap_where_some_type_matches_both(one: str, other: str, expected: bool) -> None:
    assert overlap(one, other) is overlap(other, one) is expected
