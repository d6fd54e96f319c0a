"""Keys and boxes; and what a wrong, missing or changed master key comes to."""

from __future__ import annotations

import asyncio
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import pytest

from landfast.app import Inbox
from landfast.app.stores import bind
from landfast.cli import main
from landfast.config import load
from landfast.domain.effect import ClaimedEffect, EffectSettlement, EffectSignal, StagedEffect
from landfast.domain.errors import ConfigError, MasterKeyMissingError, SealedError
from landfast.domain.ids import HandlerName, ReceiptDigest, Token, event_id
from landfast.domain.lifecycle import State
from landfast.domain.outcome import Tries
from landfast.ledgers import boxes
from landfast.recovery.rotate import rotate
from landfast.sealing import Seal, load_seal
from landfast.sealing.master import new_master
from landfast.testing.factory import delivery
from tests.inboxes.sqlite_bench import by_hand
from tests.processing.shop import Shop
from tests.sealing.scenes import MASTER, OTHER, fill

EVENT = event_id("stripe", "evt_1")
OTHER_EVENT = event_id("stripe", "evt_2")


class TestBoxes:
    def test_what_one_process_seals_another_opens_with_the_store_key(self) -> None:
        one, other = Seal([MASTER]), Seal([MASTER])
        sealed = one.event(EVENT, b"[]", b"body")
        assert one.store_key is not None
        assert other.lacks([sealed.data_key])
        other.learn([one.store_key])
        assert other.open_event(EVENT, sealed.body, sealed.data_key) == (b"[]", b"body")

    def test_a_box_opens_for_its_own_event_alone(self) -> None:
        seal = Seal([MASTER])
        sealed = seal.event(EVENT, b"[]", b"body")
        with pytest.raises(SealedError, match="changed"):
            seal.open_event(OTHER_EVENT, sealed.body, sealed.data_key)

    @pytest.mark.parametrize("place", [0, 40, -1])
    def test_a_changed_byte_is_noticed(self, place: int) -> None:
        seal = Seal([MASTER])
        box = bytearray(seal.alone(b"content that is long enough", EVENT))
        box[place] ^= 1
        if place == 0:  # not a box any more
            assert seal.open_alone(bytes(box), EVENT) == bytes(box)
            return
        with pytest.raises(SealedError, match=r"changed|another master key"):
            seal.open_alone(bytes(box), EVENT)

    def test_without_its_data_key_nothing_opens(self) -> None:
        seal = Seal([MASTER])
        sealed = seal.event(EVENT, b"[]", b"body")
        with pytest.raises(SealedError, match="its data key is gone"):
            seal.open_event(EVENT, sealed.body, None)

    def test_another_master_key_opens_nothing(self) -> None:
        one, other = Seal([MASTER]), Seal([OTHER])
        sealed = one.event(EVENT, b"[]", b"body")
        assert one.store_key is not None
        other.learn([one.store_key])
        with pytest.raises(SealedError, match="another master key"):
            other.open_event(EVENT, sealed.body, sealed.data_key)
        assert other.strangers([one.store_key]) == [one.store_key.master]

    def test_only_a_master_key_that_is_not_here_is_worth_waiting_for(self) -> None:
        one, other = Seal([MASTER]), Seal([OTHER])
        sealed = one.event(EVENT, b"[]", b"body")
        with pytest.raises(SealedError, match="the store key that its data key needs is not there") as lost:
            other.open_event(EVENT, sealed.body, sealed.data_key)
        assert one.store_key is not None
        other.learn([one.store_key])
        with pytest.raises(MasterKeyMissingError, match=one.store_key.master):
            other.open_event(EVENT, sealed.body, sealed.data_key)
        assert not isinstance(lost.value, MasterKeyMissingError)

    def test_no_box_of_an_effect_can_take_the_place_of_another(self) -> None:
        """The text of an error may be the sender's: it must not become what the effect is given."""
        seal = Seal([MASTER])
        failed = EffectSettlement("key", 1, Token(b"t" * 16), EffectSignal.BURY, message='{"to":"me"}')
        (settled,) = boxes.seal_settlements(seal, [failed])
        arguments = b64decode(settled.message.removeprefix("\x01lfa:"))
        staged = StagedEffect("key", 1, ReceiptDigest(b"d" * 32), HandlerName("h"), "mail", arguments)
        claimed = ClaimedEffect(staged, Token(b"t" * 16), Tries(0, 0.0))
        assert boxes.open_effect(seal, claimed).staged.arguments == arguments

    def test_no_two_boxes_of_the_same_content_are_alike(self) -> None:
        seal = Seal([MASTER])
        assert seal.event(EVENT, b"[]", b"body").body != seal.event(EVENT, b"[]", b"body").body
        assert seal.text("x", EVENT, None) != seal.text("x", EVENT, None)

    def test_a_text_that_only_looks_sealed_is_told_as_it_is(self) -> None:
        assert Seal([MASTER]).open_text_alone("\x01lfa:no base64", EVENT) == "\x01lfa:no base64"

    def test_what_is_carried_needs_the_master_key_and_nothing_else(self) -> None:
        box = Seal([MASTER]).carried(b"content", EVENT)
        assert b"content" not in box
        assert Seal([OTHER, MASTER]).open_carried(box, EVENT) == b"content"


class TestSettings:
    @pytest.mark.parametrize(
        ("reference", "sentence"),
        [
            ("env:NOWHERE", r"^seal: the environment variable NOWHERE is not set; set it to the master key"),
            ("file:nowhere", r"^seal: the file nowhere cannot be read"),
            ("env:SHORT", r"^seal \(env:SHORT\): this has 5 bytes; it must be 32 random bytes in base64"),
            ("env:BAD", r"^seal \(env:BAD\): this is no master key; it must be 32"),
            ("c2VjcmV0IGl0c2VsZg==", r"^seal: write env:NAME or file:PATH"),
        ],
    )
    def test_a_wrong_reference_is_one_sentence_without_the_key(
        self, tmp_path: Path, reference: str, sentence: str
    ) -> None:
        environ = {"SHORT": b64encode(b"short").decode(), "BAD": "no key at all"}
        with pytest.raises(ConfigError, match=sentence) as refusal:
            load_seal(reference, None, folder=tmp_path, environ=environ)
        assert "c2Vj" not in str(refusal.value)

    def test_a_key_from_a_file_may_end_with_a_line(self, tmp_path: Path) -> None:
        (tmp_path / "key").write_text(new_master() + "\n")
        assert load_seal("file:key", None, folder=tmp_path).is_on
        assert not load_seal(None, "file:key", folder=tmp_path).is_on


def inbox_in(folder: Path, **settings: Any) -> Inbox:
    given = {"store": f"sqlite:{folder}/inbox.db", "ledger": f"sqlite:{folder}/ledger.db", **settings}
    inbox = Inbox(**given)
    inbox.source("shop", provider="generic", secrets=["a secret of sixteen letters"])
    return inbox


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, key in (("ONE", MASTER), ("TWO", OTHER)):
        monkeypatch.setenv(name, b64encode(key).decode())


@pytest.mark.usefixtures("keys")
class TestStart:
    @pytest.mark.parametrize(
        ("settings", "sentence"),
        [
            ({}, r"^seal: the inbox is sealed, and seal is not set; set it to the master key [0-9a-f]{8}$"),
            ({"seal": "env:TWO"}, r"^seal: the inbox was sealed under the master key [0-9a-f]{8}, which is another"),
        ],
    )
    async def test_intake_and_worker_refuse_to_start_without_the_right_master_key(
        self, tmp_path: Path, settings: dict[str, str], sentence: str
    ) -> None:
        await _seal_something(tmp_path)
        other = inbox_in(tmp_path, **settings)
        with pytest.raises(ConfigError, match=sentence):
            async with other.intake():
                pass
        with pytest.raises(ConfigError, match=sentence):
            async with other.worker():
                pass

    async def test_the_key_before_is_enough_to_open(self, tmp_path: Path) -> None:
        await _seal_something(tmp_path)
        async with inbox_in(tmp_path, seal="env:TWO", seal_old="env:ONE").archive() as archive:
            record = await archive.show(event_id("stripe", "evt_later"))
            assert record is not None
            assert b"canary" in record.body


@pytest.mark.usefixtures("keys")
class TestDoctor:
    @pytest.mark.parametrize(
        ("settings", "told"),
        [
            ({"SEAL": "env:ONE"}, "ok    seal: on, 2 store keys under the master key "),
            ({"SEAL": "env:TWO", "SEAL_OLD": "env:ONE"}, "2 store keys are still under the master key in seal_old"),
            ({"SEAL": "env:TWO"}, "fail  seal: the inbox was sealed under the master key "),
            ({}, "fail  seal: the inbox is sealed, and seal is not set"),
        ],
    )
    def test_it_says_whether_the_master_key_fits(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        settings: dict[str, str],
        told: str,
    ) -> None:
        asyncio.run(_seal_something(tmp_path))
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("SHOP_SECRET", "a secret of sixteen letters")
        source = '[sources.stripe]\nprovider = "stripe"\nsecrets = ["env:SHOP_SECRET"]\n'
        (tmp_path / "landfast.toml").write_text(source)
        stores = {"STORE": "sqlite:inbox.db", "LEDGER": "sqlite:ledger.db"}
        for name, value in (stores | settings).items():
            monkeypatch.setenv(f"LANDFAST_{name}", value)
        main(["doctor"])  # which has more to say: nobody is at work here
        assert told in capsys.readouterr().out
        monkeypatch.delenv("SHOP_SECRET")  # another fault, which has nothing to do with it
        assert main(["doctor"]) == 1
        assert told in capsys.readouterr().out


async def _seal_something(folder: Path) -> Shop:
    shop = Shop("sqlite", str(folder), masters=[MASTER])
    await shop.open()
    await bind(shop.inbox, shop.ledger, load())
    await fill(shop, "canary")
    await shop.close()
    return shop


async def test_a_rotation_changes_no_event_and_the_old_master_key_opens_nothing_any_more(tmp_path: Path) -> None:
    await _seal_something(tmp_path)
    files = tmp_path / "inbox.db"
    asked = "SELECT seq, headers, body FROM body UNION ALL SELECT seq, wrapped, '' FROM data_key"
    before = by_hand(files, asked)
    shop = Shop("sqlite", str(tmp_path), masters=[OTHER, MASTER])
    await shop.open(create=False)
    both = Seal([OTHER, MASTER])
    assert (await rotate(shop.inbox, both), await rotate(shop.ledger, both)) == (1, 1)
    assert (await rotate(shop.inbox, both), await rotate(shop.ledger, both)) == (0, 0)
    await shop.close()
    assert by_hand(files, asked) == before
    new, old = (Shop("sqlite", str(tmp_path), masters=[master]) for master in (OTHER, MASTER))
    await new.open(create=False)
    assert b"canary" in (await new.show("evt_bad")).body
    assert "canary" in (await new.ledger.list(limit=9))[0]["message"]
    await new.close()
    await old.open(create=False)
    with pytest.raises(SealedError, match="another master key"):
        await old.show("evt_bad")
    await old.close()


async def test_a_rotation_that_lacks_a_key_changes_nothing(tmp_path: Path) -> None:
    await _seal_something(tmp_path)
    shop = Shop("sqlite", str(tmp_path), masters=[OTHER])
    await shop.open(create=False)
    with pytest.raises(SealedError, match=r"the master key [0-9a-f]{8} is needed; name it in seal_old"):
        await rotate(shop.inbox, Seal([OTHER]))
    await shop.close()


async def test_a_duplicate_of_an_event_that_was_changed_is_a_duplicate(tmp_path: Path) -> None:
    """A strict source compares. What acknowledged deliveries wait behind must not be a comparison that always fails."""
    shop = await _seal_something(tmp_path)
    by_hand(tmp_path / "inbox.db", "UPDATE body SET body = x'00112233445566778899aabbccddeeff00'")
    await shop.open(create=False)
    sent = delivery(source="stripe", key="evt_later", type="later", body=b"anything")
    assert await shop.inbox.differing([sent]) == [None]
    await shop.close()


async def test_a_body_that_was_changed_is_a_dead_letter_and_no_handler_sees_it(tmp_path: Path) -> None:
    await _seal_something(tmp_path)
    by_hand(
        tmp_path / "inbox.db", "UPDATE body SET body = x'00112233445566778899aabbccddeeff00' WHERE key = 'evt_later'"
    )
    shop, ran = Shop("sqlite", str(tmp_path), masters=[MASTER]), []
    shop.on("later", name="later")(lambda event, tx: ran.append(event))
    await shop.open(create=False)
    await shop.drain()
    (dead,) = [each for each in await shop.dead() if each.key == "evt_later"]
    assert (dead.state, dead.reason, ran) == (State.DEAD, "not_opened", [])
    await shop.close()
