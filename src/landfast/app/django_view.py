"""The middleware as a decorator of a Django view."""

from __future__ import annotations

import asyncio
import functools
import inspect
import time
from collections.abc import Callable
from typing import Any, TypeVar

from landfast.app.middleware import EVENTS, Middleware, enter, keys_of, leave, left
from landfast.app.mount import turned_away
from landfast.domain.answer import Answer
from landfast.web.asgi import Message, Receive, Scope, headers_of
from landfast.web.wsgi import HOP_BY_HOP, scope_of

F = TypeVar("F", bound=Callable[..., Any])


def guarded_view(middleware: Middleware, source: str) -> Callable[[F], F]:
    def decorate(view: F) -> F:
        from django.views.decorators.csrf import csrf_exempt

        if inspect.iscoroutinefunction(view):
            guarded = _on_the_loop(middleware, source, view)
        else:
            guarded = _in_a_thread(middleware, source, view)
        # With ATOMIC_REQUESTS Django would begin its transaction around us, and COMMIT after we have said that all is
        # done. So it begins inside.
        guarded._non_atomic_requests = _EveryDatabase()  # type: ignore[attr-defined]  # noqa: SLF001 - Django's mark
        exempt: F = csrf_exempt(guarded)
        return exempt

    return decorate


class _EveryDatabase:
    """Their names may not be known yet where a view is decorated."""

    def __contains__(self, alias: object) -> bool:
        return True


def _in_a_thread(middleware: Middleware, source: str, view: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(view)
    def guarded(request: Any, *given: Any, **named: Any) -> Any:
        if (here := middleware.here()) is None:
            return _response(turned_away())
        scope, receive = _request(request)
        entered = asyncio.run_coroutine_threadsafe(here.made.enter(source, scope, receive), here.loop).result()
        if isinstance(entered, Answer):
            return _response(entered)
        request.META[EVENTS] = keys_of(entered)
        status, began = None, time.monotonic()
        try:
            response = _atomic(view)(request, *given, **named)
            status = response.status_code
        finally:
            left(here, entered, status, began).result()
        return response

    return guarded


def _on_the_loop(middleware: Middleware, source: str, view: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(view)
    async def guarded(request: Any, *given: Any, **named: Any) -> Any:
        if (here := middleware.here()) is None:
            return _response(turned_away())
        entered = await enter(here, source, *_request(request))
        if isinstance(entered, Answer):
            return _response(entered)
        request.META[EVENTS] = keys_of(entered)
        status, began = None, time.monotonic()
        try:
            response = await view(request, *given, **named)
            status = response.status_code
        finally:
            await leave(here, entered, status, began)
        return response

    return guarded


def _request(request: Any) -> tuple[Scope, Receive]:
    """Django has the body, or reads it now, within its own limit (DATA_UPLOAD_MAX_MEMORY_SIZE)."""
    body: bytes = request.body

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return {**scope_of(request.META), "scheme": request.scheme}, receive


def _atomic(view: Callable[..., Any]) -> Callable[..., Any]:
    """As Django's own handler does it, inside."""
    from django.db import connections, transaction

    exempt = getattr(view, "_non_atomic_requests", ())
    for alias, settings in connections.settings.items():
        if settings["ATOMIC_REQUESTS"] and alias not in exempt:
            view = transaction.atomic(using=alias)(view)
    return view


def _response(answer: Answer) -> Any:
    from django.http import HttpResponse

    response = HttpResponse(answer.body, status=answer.status)
    for name, value in headers_of(answer):
        if name.lower() not in HOP_BY_HOP:
            response[name.decode("latin-1")] = value.decode("latin-1")
    return response
