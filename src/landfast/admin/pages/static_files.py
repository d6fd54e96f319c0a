"""The style sheet, the script and the icon: a few small files, read once."""

from __future__ import annotations

import hashlib
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

FOLDER = Path(__file__).parent.parent / "static"
KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
FILES = {file.name: file.read_bytes() for file in sorted(FOLDER.iterdir()) if file.suffix in KINDS}
VERSION = hashlib.sha256(b"".join(FILES.values())).hexdigest()[:12]
"""Of all of them, for their addresses: a page never meets the files of another version."""

YEAR_SECONDS = 365 * 86_400


async def static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in FILES:
        return Response(status_code=404)
    headers = {"cache-control": f"public, max-age={YEAR_SECONDS}, immutable"}
    return Response(FILES[name], 200, headers, KINDS[Path(name).suffix])
