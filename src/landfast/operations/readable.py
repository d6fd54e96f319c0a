"""What was stored, as JSON can carry it."""

from __future__ import annotations

import base64
import json
from typing import Any


def body_fields(body: bytes) -> dict[str, str]:
    """A body in JSON: as text where it is text, else in base64."""
    try:
        return {"body": body.decode()}
    except UnicodeDecodeError:
        return {"body_base64": base64.b64encode(body).decode()}


def json_or_text(value: bytes) -> Any:
    """What holds JSON as the value that it is, and anything else as text."""
    try:
        return json.loads(value)
    except ValueError:
        return value.decode("utf-8", "replace")
