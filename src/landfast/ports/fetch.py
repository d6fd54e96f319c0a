"""How a provider's own keys are fetched."""

from __future__ import annotations

from collections.abc import Callable

Fetch = Callable[[str, bytes | None], bytes]
"""The document at an https address, asked for with a GET or, with bytes to send, a POST. It blocks, and is called in a
thread. OSError for everything that goes wrong: no answer in time, a redirect, another status than 200, too much."""
