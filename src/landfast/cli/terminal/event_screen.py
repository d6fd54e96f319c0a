"""The screens of `landfast top` that lie over the overview: one event, and the keys."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import Screen
from textual.widgets import Footer, Static

KEYS = """\
/        to the filter; Enter takes it, Escape leaves it
j k      next and previous event, and the arrows
Enter    open the event
Escape   back
p        stop and go on with live changes
q        quit"""


class Over(Screen[None]):
    """A text that can be scrolled, and left."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,backspace", "app.pop_screen", "back"),
        Binding("j", "scroll(1)", "down", show=False),
        Binding("k", "scroll(-1)", "up", show=False),
    ]

    def __init__(self, text: Text) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="scrolled"):
            yield Static(self._text, id="text")
        yield Footer()

    def action_scroll(self, step: int) -> None:
        self.query_one("#scrolled", VerticalScroll).scroll_relative(y=step, animate=False)


class EventScreen(Over):
    """One event."""


class HelpScreen(Over):
    def __init__(self) -> None:
        super().__init__(Text(KEYS))
