"""Finding the user's application: `module:inbox` or a file, from the current directory."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType

from landfast.app.inbox import Inbox
from landfast.config import nearest
from landfast.domain.errors import AppError, LandfastError

SIDECAR = "landfast.app.sidecar:inbox"
"""The application of somebody who has none."""


def load(app: str) -> Inbox:
    """The Inbox that `app` names: `shop:inbox`, `shop` (its only Inbox), `shop.py` or `shop.py:inbox`."""
    place, _, attribute = app.partition(":")
    if not place.endswith(".py") and not all(part.isidentifier() for part in place.split(".")):
        raise AppError(
            f"app {app!r}: write module:inbox, such as handlers:inbox, or the name of a file, such as shop.py"
        )
    module = _import(app, place)
    return _named(app, module, attribute) if attribute else _only(app, module)


def _import(app: str, place: str) -> ModuleType:
    is_file = place.endswith(".py")
    folder, name = (Path(place).resolve().parent, Path(place).stem) if is_file else (Path.cwd(), place)
    if is_file and not Path(place).is_file():
        raise AppError(f"app {app!r}: there is no file {place!r}; give the path from the current directory")
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        found = is_file or importlib.util.find_spec(name) is not None
        module = importlib.import_module(name) if found else None
    except LandfastError:
        raise  # a sentence already
    except (Exception, SystemExit) as error:
        raise AppError(f"app {app!r}: {_cause(error, folder)}") from error
    if module is None:
        raise AppError(f"app {app!r}: there is no module {name!r}; write module:inbox, from the current directory")
    if is_file and Path(module.__file__ or "").resolve() != Path(place).resolve():
        raise AppError(f"app {app!r}: another module is called {name!r} already; give the file another name")
    return module


def _cause(error: BaseException, folder: Path) -> str:
    """The file, the line and the error: the innermost frame in the user's own folder, or the innermost of all."""
    text = f"{type(error).__name__}: {error}".removesuffix(": ")
    if isinstance(error, SyntaxError):
        return f"{Path(error.filename or '?').name}, line {error.lineno}: SyntaxError: {error.msg}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename]
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(folder)] or frames
    own = [frame for frame in own if frame.filename != __file__]
    return f"{Path(own[-1].filename).name}, line {own[-1].lineno}: {text}" if own else text


def _named(app: str, module: ModuleType, attribute: str) -> Inbox:
    found = getattr(module, attribute, None)
    if found is None:
        raise AppError(f"app {app!r}: {module.__name__} has no {attribute!r}{nearest(attribute, vars(module))}")
    if not isinstance(found, Inbox):
        raise AppError(f"app {app!r}: {attribute} is a {type(found).__name__}; it must be a landfast.Inbox")
    return found


def _only(app: str, module: ModuleType) -> Inbox:
    found = {name: value for name, value in vars(module).items() if isinstance(value, Inbox)}
    if len({id(value) for value in found.values()}) == 1:
        return next(iter(found.values()))
    if not found:
        raise AppError(f"app {app!r}: {module.__name__} has no Inbox; make one with inbox = landfast.Inbox()")
    raise AppError(f"app {app!r}: {module.__name__} has several; say which, such as {app}:{next(iter(found))}")
