"""The key of the operator log, as both drivers keep it: in the row of the log's end, sealed where the inbox is."""

from __future__ import annotations

from landfast.domain.mac import KEY_BYTES
from landfast.domain.operator_log import KEY_NAME
from landfast.ports.clock import Chance
from landfast.sealing import Seal
from landfast.sealing.seal import ALONE, key_in_front


def lacks(seal: Seal, box: bytes | None) -> bool:
    """Whether store keys have to be learnt before it can be opened."""
    return box is not None and seal.lacks([key_in_front(box)])


def opened(seal: Seal, box: bytes | None, chance: Chance) -> tuple[bytes, bytes]:
    """The key, and the box to keep it in from now on. Drawn where there is none yet."""
    key = chance.bytes(KEY_BYTES) if box is None else seal.open_alone(box, KEY_NAME)
    is_kept = box is not None and (box.startswith(ALONE) or not seal.is_on)
    return key, box if is_kept and box is not None else seal.alone(key, KEY_NAME)
