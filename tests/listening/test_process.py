"""`landfast listen` with a hosted inbox, an admin token and a local receiver: real processes, real HTTP."""

from __future__ import annotations

import asyncio

import pytest

from landfast.cli import main
from tests.listening.hosted import LOCAL_SECRET, Hosted, body_of, interrupt, told
from tests.listening.receiver import receiving
from tests.patience import PATIENCE_SECONDS
from tests.shops import SECRET, until


@pytest.mark.long
@pytest.mark.req("R54")
async def test_each_event_arrives_once_whoever_was_away_in_between(hosted: Hosted) -> None:
    await hosted.receive("evt_before")  # nobody listened yet
    with receiving() as receiver:
        async with hosted.listening(receiver) as process:
            sent = await hosted.receive("evt_1", "evt_2")
            assert await told(process, 2) == [("evt_1", "200"), ("evt_2", "200")]
            await hosted.kill_admin()
            sent += await hosted.receive("evt_3")
            assert await told(process, 1) == [("evt_3", "200")]
            await interrupt(process)
        assert receiver.bodies == sent
        for one in receiver.came:
            assert (one.path, one.headers["x-kept"]) == ("/hooks/stripe", "as it came")
            assert one.is_signed_with(LOCAL_SECRET) and not one.is_signed_with(SECRET)

        sent += await hosted.receive("evt_4")  # while nobody listens
        async with hosted.listening(receiver) as process:
            assert await told(process, 1) == [("evt_4", "200")]
            code, _, err = await hosted.there.run(*hosted.words(receiver, "--source", "stripe"))
            assert (code, "another landfast listen" in err) == (2, True)
            await interrupt(process)
        assert receiver.bodies == sent

        async with hosted.listening(receiver, "--since", "1h") as process:
            assert await told(process, 1) == [("evt_before", "200")]
            await interrupt(process)
        async with hosted.listening(receiver, "--since", "1h", "--again") as process:
            await told(process, 5)
            await interrupt(process)
        assert sorted(receiver.bodies[5:]) == sorted(receiver.bodies[:5])


@pytest.mark.long
async def test_a_receiver_that_is_away_or_refuses_or_dies_gets_each_event_once(hosted: Hosted) -> None:
    with receiving() as first:
        port = first.port
    async with hosted.listening(first) as process:
        await hosted.receive("evt_1")
        await until(lambda: hosted.told("nothing listens at"), 1)
        with receiving(port) as receiver:
            assert await told(process, 1) == [("evt_1", "200")]
            for number, answer in enumerate((500, 0), start=2):
                receiver.answer = answer
                await hosted.receive(f"evt_{number}")
                assert await told(process, 1) == [(f"evt_{number}", str(answer or "no answer"))]
            receiver.answer = -1
            await hosted.receive("evt_4")
            await until(lambda: len(receiver.came), 4)
            process.kill()  # while the receiver has it, and has not answered
            async with asyncio.timeout(PATIENCE_SECONDS):
                out, _ = await process.communicate()
            assert out == b""
            receiver.answer = 200
            async with hosted.listening(receiver) as after:
                await hosted.receive("evt_5")
                assert await told(after, 1) == [("evt_5", "200")]
                assert hosted.told("was under way when it ended last time") == 1
                await interrupt(after)
            assert receiver.bodies == [body_of(f"evt_{number}") for number in range(1, 6)]


@pytest.mark.long
async def test_what_cannot_be_is_one_sentence_and_one_event_can_be_had_by_name(
    hosted: Hosted, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    viewer = await hosted.token("viewer")
    for name, value in {**hosted.settings, "VIEWER_TOKEN": viewer, "WRONG_TOKEN": "lf_wrong"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(hosted.laptop)

    async def run(*words: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = await asyncio.to_thread(main, words)
        return code, *capfd.readouterr()

    await hosted.receive("evt_1")
    with receiving() as receiver:
        words = hosted.words(receiver)
        code, out, err = await run(*words, "--event", "stripe/evt_1")
        assert (code, "  200  " in out, receiver.bodies) == (0, True, [body_of("evt_1")]), err
        assert (await run(*words, "--event", "evt_1"))[0] == 0
        assert receiver.bodies == [body_of("evt_1")] * 2
        assert (await run(*words, "--event", "nothing"))[:1] == (1,)
        await run(*[*words[:6], "--unsigned"], "--event", "evt_1")
        assert "stripe-signature" not in receiver.came[-1].headers
        assert receiver.came[-1].body == body_of("evt_1")

        source, event = ("--source", "stripe"), ("--event", "evt_1")
        base = words[:2]
        refusals = {
            "the role admin is needed": [*base, "--token", "env:VIEWER_TOKEN", *words[4:], *event],
            "this token is not valid": [*base, "--token", "env:WRONG_TOKEN", *words[4:], *source],
            "a token is needed": [*base, *words[4:], *source],
            "did you mean 'stripe'": [*words, "--source", "strip"],
            "--token takes env:NAME or file:PATH": [*base, "--token", viewer, *source],
            "--sign-with takes env:NAME or file:PATH": [*words[:6], "--sign-with", LOCAL_SECRET, *event],
            "is not set": [*base, "--token", "env:NOBODY", *source],
            "is no address": ["listen", "inbox.example", *source],
            "no admin API": ["listen", f"http://127.0.0.1:{hosted.serve.port}", *source],
            "the one or the other": words,
            "give --since": [*words, *source, "--again"],
            "goes with --source": [*words, *event, "--since", "2h"],
            "give one of them": [*words, *source, "--unsigned"],
            "no secret to sign with": [*words[:6], *event],
            "must be http://HOST:PORT": [*words[:4], "--to", "laptop", "--unsigned", *event],
        }
        for sentence, given in refusals.items():
            code, out, err = await run(*given)
            assert (code, out) == (2, "") and sentence in err, (sentence, err)
            assert err.startswith("landfast: ") and len(err.splitlines()) == 1
            assert viewer not in err and LOCAL_SECRET not in err
        assert len(receiver.came) == 3
