"""The application of somebody who has none: the sources and forwards of landfast.toml. `landfast serve` without APP
runs it, and its processes import it by this name."""

from __future__ import annotations

from landfast.app.inbox import Inbox

inbox = Inbox()
