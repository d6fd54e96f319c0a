"""`landfast serve` as its users meet it: a real process, real sockets, real signals."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import ssl
from functools import partial
from pathlib import Path

import pytest
import trustme

from landfast import __version__
from landfast.demo.load import Connection
from landfast.domain.lifecycle import State
from tests.patience import PATIENCE_SECONDS
from tests.shops import DOOR, ORDER, Shop, sqlite_shop, until


@pytest.fixture
async def shop(tmp_path: Path) -> Shop:
    shop = sqlite_shop(tmp_path)
    await shop.create_orders()
    shop.write(ORDER)
    return shop


async def test_an_event_that_is_sent_becomes_an_order(shop: Shop) -> None:
    async with shop.serving() as serve:
        assert await shop.send(serve, "evt_1") == 200
        await until(lambda: shop.count(State.DONE), 1)
        assert await shop.orders() == ["evt_1"]
        assert await serve.stop() == 0


async def test_the_banner_names_the_inbox_the_store_and_the_handlers(shop: Shop) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS), shop.running("serve", "shop.py", "--port", "0") as process:
        assert process.stdout is not None
        lines = [(await process.stdout.readline()).decode() for _ in range(6)]
        process.send_signal(signal.SIGINT)
        _, err = await process.communicate()
        assert process.returncode == 0
    assert b'stopping count=2 fix="Ctrl-C again to kill"\n' in err
    banner = "".join(lines)
    assert f"landfast {__version__}   ready in " in banner
    assert "http://127.0.0.1:" in banner and "/in/stripe" in banner
    assert "landfast.db, every ack fsynced" in banner
    assert "create_order (stripe payment_intent.succeeded)" in banner
    assert "processes  1 intake, 1 worker\n" in banner


async def test_what_a_handler_prints_is_seen_at_once(shop: Shop) -> None:
    shop.write(ORDER, '    print("printed by", event.key)\n')
    async with asyncio.timeout(PATIENCE_SECONDS), shop.running("serve", "shop.py", "--port", "0") as process:
        assert process.stdout is not None
        while b"/in/stripe" not in (line := (await process.stdout.readline())):
            assert line
        connection = Connection(int(line.partition(b"127.0.0.1:")[2].partition(b"/")[0]))
        await connection.send(shop.sender.delivery(shop.sender.payment("evt_1")))
        connection.close()
        while b"printed by evt_1" not in (line := await process.stdout.readline()):
            assert line


async def test_what_is_printed_does_not_stand_between_json_lines(shop: Shop) -> None:
    shop.write('print("printed by the import")\n', ORDER, '    print("printed by", event.key)\n')
    async with shop.serving() as serve:
        await shop.send(serve, "evt_1")
        await until(lambda: shop.count(State.DONE), 1)
        assert await serve.stop() == 0
    log = (shop.folder / "serve.log").read_text()
    assert "printed by evt_1" in log
    assert log.count("printed by the import") == 3


async def test_a_port_that_is_taken_says_how_to_choose_another(shop: Shop) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, _, err = await shop.run("serve", "shop.py", "--port", str(taken.getsockname()[1]))
    assert code == 2
    assert "is in use: stop the other server, or set another `port` (--port)." in err


async def test_it_goes_on_when_nobody_reads_its_output_any_more(shop: Shop) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS), shop.running("serve", "shop.py", "--port", "0", "--json") as process:
        assert process.stdout is not None
        news = [json.loads(await process.stdout.readline()) for _ in range(5)]
        process._transport.get_pipe_transport(1).close()  # type: ignore[attr-defined]
        (intake,) = (line["pid"] for line in news if line.get("process") == "intake" and line["state"] == "ready")
        (port,) = (line["port"] for line in news if "port" in line)
        os.kill(intake, signal.SIGKILL)

        async def is_answered() -> bool:
            connection = Connection(port)
            status = await connection.send(shop.sender.delivery(shop.sender.payment("evt_1")))
            connection.close()
            return status == 200

        await until(is_answered, True)
        process.terminate()
        assert await process.wait() == 0


async def test_a_port_in_use_is_one_sentence_and_exit_2(shop: Shop) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        code, out, err = await shop.run("serve", "shop.py", "--port", str(port))
    _assert_one_sentence(code, out, err, f"Port {port} on 127.0.0.1 is in use", "stop the other server")


async def test_a_second_landfast_on_the_same_port_is_refused(shop: Shop) -> None:
    async with shop.serving() as serve:
        code, out, err = await shop.run("serve", "shop.py", "--port", str(serve.port))
    _assert_one_sentence(code, out, err, f"Port {serve.port} on 127.0.0.1 is in use")


async def test_an_application_that_cannot_be_imported_is_one_sentence_and_exit_2(shop: Shop) -> None:
    shop.write("\nimport no_such_module\n")
    code, out, err = await shop.run("serve", "shop.py", "--port", "0")
    _assert_one_sentence(code, out, err, "shop.py, line", "No module named 'no_such_module'")


async def test_a_missing_secret_is_one_sentence_and_exit_2(shop: Shop) -> None:
    shop.write(ORDER, '\ninbox.source("two", provider="stripe", secrets=["env:NOT_SET"])\n')
    code, out, err = await shop.run("serve", "shop.py", "--port", "0", "--intakes", "3")
    _assert_one_sentence(code, out, err, "source two", "NOT_SET")


async def test_two_workers_on_a_sqlite_ledger_are_one_sentence_and_exit_2(shop: Shop) -> None:
    code, out, err = await shop.run("serve", "shop.py", "--port", "0", "--workers", "2")
    _assert_one_sentence(code, out, err, "workers is 2", "one writer")


async def test_without_an_application_it_says_how_to_name_one(shop: Shop) -> None:
    code, out, err = await shop.run("serve")
    _assert_one_sentence(code, out, err, "landfast serve shop:inbox")


async def test_a_lifespan_that_fails_in_the_child_ends_it_with_2_instead_of_looping(shop: Shop) -> None:
    shop.write(
        ORDER,
        "\nfrom landfast.domain.errors import ConfigError\n"
        "@inbox.lifespan\nasync def broken():\n    raise ConfigError('the CRM key is missing; set it')\n    yield\n",
    )
    code, _, err = await shop.run("serve", "shop.py", "--port", "0")
    assert code == 2
    assert err.count("the CRM key is missing; set it") == 1
    assert "Traceback" not in err


@pytest.mark.req("R3")
async def test_sigterm_answers_what_is_in_flight_and_exits_0(shop: Shop) -> None:
    shop.take_time()
    async with shop.serving() as serve:
        request = shop.sender.delivery(shop.sender.payment("evt_1"))
        reader, writer = await asyncio.open_connection("127.0.0.1", serve.port)
        writer.write(request[:-10])
        await writer.drain()
        # A second request on its own connection tells us that the intake has read everything before it.
        assert await shop.send(serve, "evt_2") == 200

        os.kill(serve.pid, signal.SIGTERM)
        await _refuses_connections(serve.port)
        writer.write(request[-10:])
        async with asyncio.timeout(PATIENCE_SECONDS):
            answer = await reader.read()
        writer.close()
        assert answer.startswith(b"HTTP/1.1 200"), answer
        assert await serve.wait() == 0
    assert await shop.count(State.READY) + await shop.count(State.DONE) == 2


async def test_sigterm_lets_the_handler_finish(shop: Shop) -> None:
    shop.take_time()
    shop.write(ORDER, DOOR)
    async with shop.serving() as serve:
        await shop.send(serve, "evt_1")
        (worker,) = serve.pids("worker")
        await until((shop.folder / f"inside-{worker}").exists, True)
        os.kill(serve.pid, signal.SIGTERM)
        await _refuses_connections(serve.port)
        (shop.folder / "open").touch()
        assert await serve.wait() == 0
    assert await shop.orders() == ["evt_1"]
    assert await shop.count(State.DONE) == 1


async def test_no_child_outlives_a_supervisor_that_is_killed(shop: Shop) -> None:
    async with shop.serving("--intakes", "2") as serve:
        children = list(serve.processes)
        assert len(children) == 3
        os.kill(serve.pid, signal.SIGKILL)
        for pid in children:
            await until(partial(_is_alive, pid), False)


@pytest.mark.req("R24")
async def test_an_event_in_the_hands_of_a_killed_worker_does_not_wait_for_its_lease(shop: Shop) -> None:
    shop.settings["LANDFAST_LEASE"] = "3600"
    shop.write(ORDER, DOOR)
    async with shop.serving() as serve:
        await shop.send(serve, "evt_1")
        (worker,) = serve.pids("worker")
        await until((shop.folder / f"inside-{worker}").exists, True)
        os.kill(worker, signal.SIGKILL)
        (shop.folder / "open").touch()
        await until(lambda: shop.count(State.DONE), 1)
    assert await shop.orders() == ["evt_1"]


async def test_an_intake_that_is_killed_is_replaced_on_the_same_port(shop: Shop) -> None:
    async with shop.serving() as serve:
        (intake,) = serve.pids("intake")
        os.kill(intake, signal.SIGKILL)
        await serve.until(lambda: bool(serve.pids("intake")) and serve.pids("intake") != [intake])
        assert await shop.send(serve, "evt_1") == 200


async def test_a_handler_that_blocks_the_loop_for_ever_is_killed_and_others_go_on(shop: Shop) -> None:
    shop.write(
        '\n@inbox.on("stripe", "*", deadline=0.1)\nasync def block(event, tx):\n'
        "    await tx.execute('INSERT INTO orders (event_key) VALUES ($1)', event.key)\n"
        "    if not pathlib.Path('blocked').exists():\n"
        "        pathlib.Path('blocked').touch()\n        threading.Event().wait()\n"
    )
    async with shop.serving() as serve:
        await shop.send(serve, "evt_1")
        await until(lambda: shop.count(State.DONE), 1)
    assert await shop.orders() == ["evt_1"]


async def test_workers_0_takes_in_and_runs_nothing(shop: Shop) -> None:
    async with shop.serving("--workers", "0") as serve:
        assert serve.pids("worker") == []
        assert await shop.send(serve, "evt_1") == 200
        assert await shop.count(State.READY) == 1
    assert await shop.orders() == []


async def test_reload_takes_up_a_changed_application(shop: Shop) -> None:
    async with shop.serving("--reload") as serve:
        before = dict(serve.processes)
        shop.write(ORDER.replace("event.key)", 'event.key + " in the new way")'))
        await serve.until(lambda: len(serve.processes) == 2 and not before.keys() & serve.processes.keys())
        await shop.send(serve, "evt_1")
        await until(lambda: shop.count(State.DONE), 1)
    assert await shop.orders() == ["evt_1 in the new way"]


async def test_tls_by_two_files(shop: Shop) -> None:
    authority = trustme.CA()
    certificate = authority.issue_cert("localhost")
    certificate.cert_chain_pems[0].write_to_path(shop.folder / "cert.pem")
    certificate.private_key_pem.write_to_path(shop.folder / "key.pem")
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    async with shop.serving("--tls-cert", "cert.pem", "--tls-key", "key.pem") as serve:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", serve.port, ssl=trusting, server_hostname="localhost"
        )
        writer.write(shop.sender.delivery(shop.sender.payment("evt_1")))
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        writer.close()
        with contextlib.suppress(ssl.SSLError, OSError):
            await writer.wait_closed()


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"  # ended, and whoever inherited it has not looked yet


async def _refuses_connections(port: int) -> None:
    """The first sign from outside that the stop has begun."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                return
            writer.close()
            await asyncio.sleep(0.01)


def _assert_one_sentence(code: int, out: str, err: str, *words: str) -> None:
    assert code == 2, err
    assert out == ""
    assert err.count("\n") == 1, err
    for word in words:
        assert word in err
