"""Events in Django's admin, to look at. Staff need the permission landfast.view_event; nothing can be changed here."""

from __future__ import annotations

import re
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.template.response import TemplateResponse
from django.urls import path

from landfast.django.discovery import find_inbox
from landfast.django.event_pages import COLUMNS, Listing, Page, list_events, show_event
from landfast.django.models import Event
from landfast.domain.errors import LandfastError

SAFE_METHODS = ("GET", "HEAD")


@admin.register(Event)
class EventAdmin(admin.ModelAdmin):
    """Two pages of its own: the model has no rows, and all that Django would do with them is left out."""

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view
        return [
            path("", view(self.events), name="landfast_event_changelist"),
            path("<str:event>/", view(self.event), name="landfast_event_change"),
        ]

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002 - Django's signature
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:  # noqa: ARG002 - same
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:  # noqa: ARG002 - same
        return False

    def events(self, request: HttpRequest) -> HttpResponse:
        if (refusal := self._refusal(request)) is not None:
            return refusal
        query = " ".join(request.GET.get("q", "").split())
        try:
            listing = list_events(find_inbox(), query, request.GET.get("after", ""))
        except LandfastError as error:
            listing = Listing(query, problem=str(error))
        return self._page(request, "landfast/events.html", "Events", listing=listing, columns=COLUMNS)

    def event(self, request: HttpRequest, event: str) -> HttpResponse:
        if (refusal := self._refusal(request)) is not None:
            return refusal
        if not re.fullmatch("[0-9a-f]{32}", event):
            raise Http404("there is no such event")
        try:
            page = show_event(find_inbox(), event)
        except LandfastError as error:
            page = Page(problem=str(error))
        if page is None:
            raise Http404("there is no such event")
        return self._page(request, "landfast/event.html", f"Event {event}", page=page)

    def _refusal(self, request: HttpRequest) -> HttpResponse | None:
        if not self.has_view_permission(request):
            raise PermissionDenied
        return None if request.method in SAFE_METHODS else HttpResponseNotAllowed(SAFE_METHODS)

    def _page(self, request: HttpRequest, template: str, title: str, **shown: Any) -> HttpResponse:
        context = {**self.admin_site.each_context(request), "title": title, "opts": self.opts, **shown}
        return TemplateResponse(request, template, context)
