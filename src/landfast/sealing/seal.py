"""Keys and boxes. A master key wraps store keys, a store key wraps data keys, and a data key seals one event.

The master key stands in the settings and nowhere else. Each process that seals draws a store key of its own, so that it
needs no database to begin; the wrapped form lies beside what it seals, and is all that a rotation has to change. A data
key is drawn for each event: to destroy it is to erase the event, whatever copies of its boxes are left in a file.

AES-256-GCM everywhere. Each box is bound to its event and to what it is, so that none can be put in another's place.
"""

from __future__ import annotations

import hashlib
import os
from base64 import b64decode, b64encode
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from landfast.domain.errors import MasterKeyMissingError, SealedError
from landfast.domain.store_key import StoreKey

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES = 32
_ID, _NONCE, _TAG = 8, 12, 16
_WRAPPED = _NONCE + KEY_BYTES + _TAG
DATA_KEY_BYTES = _ID + _WRAPPED

ONCE = bytes(_NONCE)
"""The nonce of an event's own box: its data key seals no second one of that name. Every other box draws its own."""

SEALED = b"\x00lfs"
"""In the place of headers that are sealed with their body. In clear they are JSON, which never begins so."""

ALONE = b"\x00lfa"
"""How a box begins that has its data key in front of it. Neither JSON nor our msgpack begins so."""
CARRIED = b"\x00lfc"
"""The same with its store key as well: for files and messages that no table of keys belongs to."""
TEXT, TEXT_ALONE = "\x01lfs:", "\x01lfa:"
"""How a sealed text begins: under its event's data key, or with a data key of its own."""

_MASTER_NAME = 8
"""Hexadecimal digits that name a master key. They tell two apart and say nothing about either."""


class SealedEvent(NamedTuple):
    headers: bytes
    """`SEALED` where they are in the body's box."""
    body: bytes
    data_key: bytes | None
    """Wrapped. None where nothing is sealed."""


class Seal:
    """Without a master key it seals nothing, and opens nothing that is sealed. With `sealing` off it only opens."""

    def __init__(self, masters: Sequence[bytes] = (), *, sealing: bool = True) -> None:
        """The first one wraps what is new; the others only open."""
        self._masters = {master_name(master): _cipher(master) for master in masters}
        self._store_keys: dict[bytes, AESGCM] = {}
        self._closed: dict[bytes, str] = {}
        """Store keys that are there, and the names of the master keys that they need."""
        self.store_key: StoreKey | None = None
        self.refusal = ""
        """Why nothing more may be taken in with these keys: the inbox was away, is back, and needs others."""
        if masters and sealing:
            self._draw(master_name(masters[0]))

    @property
    def is_on(self) -> bool:
        return self.store_key is not None

    @property
    def has_masters(self) -> bool:
        return bool(self._masters)

    def learn(self, keys: Iterable[StoreKey]) -> None:
        """Store keys as a database has them; those of another master key stay closed."""
        for key in keys:
            master = self._masters.get(key.master)
            if master is None:
                self._closed[key.id] = key.master
            elif key.id not in self._store_keys:
                self._store_keys[key.id] = _cipher(_opened(master, key.wrapped, b"store key" + key.id))

    def lacks(self, data_keys: Iterable[bytes | None]) -> bool:
        """Whether one of these needs a store key that is not learnt yet."""
        return any(key is not None and key[:_ID] not in self._store_keys for key in data_keys)

    def strangers(self, keys: Iterable[StoreKey]) -> list[str]:
        """The names of master keys that would be needed, and are not there."""
        return sorted({key.master for key in keys} - self._masters.keys())

    def rewrapped(self, key: StoreKey) -> StoreKey:
        """The same store key under the newest master key."""
        if self.store_key is None or key.master == self.store_key.master:
            return key
        if key.master not in self._masters:
            raise MasterKeyMissingError(f"seal: the master key {key.master} is needed; name it in seal_old")
        plain = _opened(self._masters[key.master], key.wrapped, b"store key" + key.id)
        name = self.store_key.master
        return StoreKey(key.id, _sealed(self._masters[name], plain, b"store key" + key.id), name)

    # An event's headers and body, under its data key.

    def event(self, event: bytes, headers: bytes, body: bytes) -> SealedEvent:
        if self.store_key is None:
            return SealedEvent(headers, body, None)
        plain, wrapped = self._data_key(self.store_key.id, event)
        content = b"".join((len(headers).to_bytes(4), headers, body))
        return SealedEvent(SEALED, _cipher(plain).encrypt(ONCE, content, b"event" + event), wrapped)

    def open_event(self, event: bytes, body: bytes, data_key: bytes | None) -> tuple[bytes, bytes]:
        """Headers and body."""
        content = _decrypted(self._unwrapped(event, data_key), ONCE, body, b"event" + event)
        end = 4 + int.from_bytes(content[:4])
        return content[4:end], content[end:]

    def text(self, text: str, event: bytes, data_key: bytes | None) -> str:
        """What is written about an event: under its data key, or with one of its own where it has none."""
        if self.store_key is None or not text:
            return text
        if data_key is None:
            return self.text_alone(text, event)
        content = text.encode("utf-8", "replace")
        return TEXT + b64encode(_sealed(self._unwrapped(event, data_key), content, b"text" + event)).decode()

    def open_text(self, text: str, event: bytes, data_key: bytes | None) -> str:
        if not text.startswith(TEXT):
            return self.open_text_alone(text, event)
        return _opened(self._unwrapped(event, data_key), _unprinted(text, TEXT), b"text" + event).decode()

    # Boxes with a data key of their own in front, for what outlives the event or has none.

    def alone(self, content: bytes, about: bytes) -> bytes:
        if self.store_key is None:
            return content
        plain, wrapped = self._data_key(self.store_key.id, about)
        return b"".join((ALONE, wrapped, _cipher(plain).encrypt(ONCE, content, b"alone" + about)))

    def open_alone(self, box: bytes, about: bytes) -> bytes:
        if not box.startswith(ALONE):
            return box
        key, content = box[4 : 4 + DATA_KEY_BYTES], box[4 + DATA_KEY_BYTES :]
        return _decrypted(self._unwrapped(about, key), ONCE, content, b"alone" + about)

    def text_alone(self, text: str, about: bytes) -> str:
        if self.store_key is None or not text:
            return text
        return TEXT_ALONE + b64encode(self.alone(text.encode("utf-8", "replace"), about)).decode()

    def open_text_alone(self, text: str, about: bytes) -> str:
        if not text.startswith(TEXT_ALONE):
            return text
        return self.open_alone(_unprinted(text, TEXT_ALONE), about).decode("utf-8", "replace")

    def carried(self, content: bytes, about: bytes) -> bytes:
        """For a spool or a broker: whoever has the master key can open it, without any database."""
        if self.store_key is None:
            return content
        key = self.store_key
        return b"".join(
            (CARRIED, bytes.fromhex(key.master), key.id, key.wrapped, self.alone(content, b"carried" + about))
        )

    def open_carried(self, box: bytes, about: bytes) -> bytes:
        if not box.startswith(CARRIED):
            return box
        start = len(CARRIED) + _MASTER_NAME // 2
        end = start + _ID + _WRAPPED
        master = box[len(CARRIED) : start].hex()
        self.learn([StoreKey(box[start : start + _ID], box[start + _ID : end], master)])
        return self.open_alone(box[end:], b"carried" + about)

    def _draw(self, master: str) -> None:
        plain, key_id = os.urandom(KEY_BYTES), os.urandom(_ID)
        self._store_keys[key_id] = _cipher(plain)
        self.store_key = StoreKey(key_id, _sealed(self._masters[master], plain, b"store key" + key_id), master)

    def _data_key(self, store_key: bytes, about: bytes) -> tuple[bytes, bytes]:
        """A new one, and the same wrapped."""
        drawn = os.urandom(KEY_BYTES + _NONCE)
        plain, nonce = drawn[:KEY_BYTES], drawn[KEY_BYTES:]
        wrapped = self._store_keys[store_key].encrypt(nonce, plain, b"data key" + about)
        return plain, b"".join((store_key, nonce, wrapped))

    def _unwrapped(self, about: bytes, data_key: bytes | None) -> AESGCM:
        if data_key is None:
            raise SealedError("sealed, and its data key is gone")
        store_key = self._store_keys.get(data_key[:_ID])
        if store_key is None:
            raise self._unopened(data_key[:_ID])
        return _cipher(_opened(store_key, data_key[_ID:], b"data key" + about))

    def _unopened(self, store_key: bytes) -> SealedError:
        if (master := self._closed.get(store_key)) is None:
            return SealedError("sealed, and the store key that its data key needs is not there")
        if not self._masters:
            return MasterKeyMissingError(f"sealed: set seal, or seal_old, to the master key {master}")
        return MasterKeyMissingError(f"sealed under another master key, {master}; name that one in seal_old")


def master_name(master: bytes) -> str:
    return hashlib.sha256(b"landfast master key" + master).hexdigest()[:_MASTER_NAME]


def key_in_front(value: bytes | str) -> bytes | None:
    """The data key that a box or a text of its own carries, wrapped; None where it carries none."""
    if isinstance(value, str):
        value = _unprinted(value, TEXT_ALONE) if value.startswith(TEXT_ALONE) else b""
    return value[len(ALONE) :][:DATA_KEY_BYTES] if value.startswith(ALONE) else None


def _unprinted(text: str, prefix: str) -> bytes:
    try:
        return b64decode(text.removeprefix(prefix), validate=True)
    except ValueError:  # not ours: a text that happens to begin so
        return text.encode("utf-8", "replace")


def _cipher(key: bytes) -> AESGCM:
    return _aes_gcm()(key)


@cache
def _aes_gcm() -> type[AESGCM]:
    # Imported by whoever seals: it takes a tenth of a second that nobody else has to wait for.
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM


def _sealed(cipher: AESGCM, content: bytes, about: bytes) -> bytes:
    nonce = os.urandom(_NONCE)
    return nonce + cipher.encrypt(nonce, content, about)


def _opened(cipher: AESGCM, box: bytes, about: bytes) -> bytes:
    return _decrypted(cipher, box[:_NONCE], box[_NONCE:], about)


def _decrypted(cipher: AESGCM, nonce: bytes, content: bytes, about: bytes) -> bytes:
    from cryptography.exceptions import InvalidTag

    try:
        return cipher.decrypt(nonce, content, about)
    except (InvalidTag, ValueError):
        raise SealedError("sealed, and changed since: it does not open with its key") from None
