"""Which Inbox a Django project has."""

from __future__ import annotations

import traceback
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from django.apps import apps
from django.conf import settings
from django.utils.module_loading import module_has_submodule

from landfast.app import Inbox
from landfast.config import nearest
from landfast.domain.errors import AppError, LandfastError

MODULE = "webhooks"
"""Of each installed app, as `admin` and `tasks` are."""
EXAMPLE = 'LANDFAST = {"inbox": "shop.webhooks:inbox"}'


def find_inbox() -> Inbox:
    """The one that the setting LANDFAST names, or else the only one in the modules `webhooks` of the installed apps.
    All of these are imported: a handler may stand in any app."""
    named = _named()
    modules = [
        _imported(f"{config.name}.{MODULE}")
        for config in apps.get_app_configs()
        if module_has_submodule(config.module, MODULE)
    ]
    if named:
        return _at(named)
    found = {
        id(value): (f"{module.__name__}:{name}", value)
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, Inbox)
    }
    if len(found) == 1:
        ((_, inbox),) = found.values()
        return inbox
    if not found:
        raise AppError(f"there is no Inbox in a module {MODULE} of an installed app; make one there, or set {EXAMPLE}")
    places = " and ".join(sorted(place for place, _ in found.values()))
    raise AppError(f"there are several inboxes, {places}; say which one in the settings, such as {EXAMPLE}")


def _named() -> str:
    given: Any = getattr(settings, "LANDFAST", {})
    if not isinstance(given, dict) or not isinstance(given.get("inbox", ""), str):
        raise AppError(f"the setting LANDFAST must be a dict, such as {EXAMPLE}")
    for key in given:
        if key != "inbox":
            hint = nearest(str(key), ["inbox"]) or "; the key is inbox, and all else belongs to Inbox(...)"
            raise AppError(f"the setting LANDFAST has no key {key!r}{hint}")
    named: str = given.get("inbox", "")
    return named


def _at(named: str) -> Inbox:
    place, _, attribute = named.partition(":")
    if not attribute:
        raise AppError(f"the setting LANDFAST names the inbox {named!r}; write module:name, such as {EXAMPLE}")
    found = getattr(_imported(place), attribute, None)
    if not isinstance(found, Inbox):
        raise AppError(f"the setting LANDFAST names {named!r}, which is no landfast.Inbox; correct the module or name")
    return found


def _imported(name: str) -> ModuleType:
    try:
        return import_module(name)
    except LandfastError:
        raise  # a sentence already
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}, line {last.lineno}"
        raise AppError(f"{name} cannot be imported: {where}: {type(error).__name__}: {error}") from error
