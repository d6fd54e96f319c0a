"""`path("hooks/", include("landfast.django.urls"))`: a source called stripe is then at /hooks/in/stripe."""

from __future__ import annotations

import asyncio
from typing import Any

from django.urls import URLPattern
from django.urls.resolvers import RegexPattern

from landfast.django.views import receive_in_thread, receive_on_loop

PATHS = r"^(?P<path>in/[^/]+|health|ready)$"


class EitherWay(URLPattern):
    """One address with two views. Django looks it up for each request: on a loop under ASGI, in a thread under WSGI."""

    def resolve(self, path: str) -> Any:
        found = super().resolve(path)
        if found is not None and _is_on_a_loop():
            found.func = receive_on_loop
        return found


def _is_on_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


app_name = "landfast"
urlpatterns = [EitherWay(RegexPattern(PATHS, name="receive", is_endpoint=True), receive_in_thread, name="receive")]
