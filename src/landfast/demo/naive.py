"""The handler that most of us write first, and the bug that made it ship 11,247 pairs of shoes.

It verifies the signature, looks whether the event was processed, does the work, and then notes that it did. A deploy
renamed the column that the note goes into. So each delivery looks new, makes an order, fails to note
it, and is answered 500; and the sender sends it again.

    python -m landfast.demo.naive DATABASE      serves it, prints its port, and stops when its input closes
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import os
import sqlite3
import sys

SCHEMA = """
CREATE TABLE orders (id INTEGER PRIMARY KEY, payment_id TEXT NOT NULL, amount INTEGER NOT NULL);
CREATE TABLE processed_events (event_id TEXT PRIMARY KEY, processed_at TEXT NOT NULL);
ALTER TABLE processed_events RENAME COLUMN processed_at TO handled_at;
"""


def handle_webhook(db: sqlite3.Connection, secret: str, signature: str, body: bytes) -> int:
    if not verify_stripe_signature(secret, signature, body):
        return 401
    event = json.loads(body)

    # Check if already processed
    if db.execute("SELECT 1 FROM processed_events WHERE event_id = ?", (event["id"],)).fetchone():
        return 200

    # Process the event
    payment = event["data"]["object"]
    db.execute("INSERT INTO orders (payment_id, amount) VALUES (?, ?)", (payment["id"], payment["amount"]))
    db.commit()

    # Mark as processed
    db.execute("INSERT INTO processed_events (event_id, processed_at) VALUES (?, datetime())", (event["id"],))
    db.commit()
    return 200


def verify_stripe_signature(secret: str, header: str, body: bytes) -> bool:
    parts = dict(part.partition("=")[::2] for part in header.split(","))
    signed = parts.get("t", "").encode() + b"." + body
    expected = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected, parts.get("v1", ""))


async def serve(path: str, secret: str) -> None:
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")  # faster than Landfast may be: it keeps no promise about power cuts
    db.executescript(SCHEMA)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                signature, body = await _read_request(reader)
                writer.write(_answer(db, secret, signature, body))
        except (EOFError, OSError):
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)
    server.close()
    db.close()


def _answer(db: sqlite3.Connection, secret: str, signature: str, body: bytes) -> bytes:
    try:
        status = handle_webhook(db, secret, signature, body)
    except Exception:  # noqa: BLE001 - as its framework would
        db.rollback()
        status = 500
    return f"HTTP/1.1 {status} -\r\ncontent-length: 0\r\n\r\n".encode()


async def _read_request(reader: asyncio.StreamReader) -> tuple[str, bytes]:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
    return headers.get("stripe-signature", ""), await reader.readexactly(int(headers.get("content-length", "0")))


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], os.environ["STRIPE_WEBHOOK_SECRET"]))
