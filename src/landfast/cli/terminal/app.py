"""`landfast top` as a textual application. It asks what the overview page and the list of events ask."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import DataTable, Footer, Input, Sparkline, Static

from landfast.admin.desk import Desk
from landfast.admin.questions.event import EventAsked, event
from landfast.admin.questions.events import EventsAsked, events
from landfast.admin.questions.overview import OverviewAsked, overview
from landfast.app import Inbox
from landfast.cli.output import safe
from landfast.cli.terminal import figures
from landfast.cli.terminal.event_screen import EventScreen, HelpScreen
from landfast.cli.terminal.figures import Row, said
from landfast.domain.errors import LandfastError

LOOK_SECONDS = 2.0
"""Between two looks, as of an open dashboard."""

EVENTS_SHOWN = 100
WINDOW_MINUTES = 60

Table = DataTable[Text]


class Top(App[None]):
    CSS = """
    #head { height: auto; padding: 0 1 }
    #flow { height: 2; margin: 0 1; }
    #tables { height: auto; max-height: 12; }
    #tables DataTable { width: 1fr; height: auto; max-height: 12; }
    #filter { height: 1; border: none; padding: 0 1; background: $surface }
    #told { height: auto; padding: 0 1 }
    #events { height: 1fr }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "filter"),
        Binding("j,down", "move(1)", "next", show=False),
        Binding("k,up", "move(-1)", "previous", show=False),
        Binding("enter", "open", "open"),
        Binding("p", "pause", "pause"),
        Binding("question_mark", "help", "help"),
        Binding("q", "quit", "quit"),
    ]

    def __init__(self, inbox: Inbox, wanted: str = "") -> None:
        super().__init__()
        self._desk = Desk(inbox)
        self._wanted = wanted
        self._is_paused = False
        self._is_misread = False
        """The filter that was typed: why stands where the count would."""
        self._seen_at = "never"

    def compose(self) -> ComposeResult:
        with Vertical(id="head"):
            yield Static(Text("Landfast"), id="title")
            yield Static(Text("looking ..."), id="figures")
            yield Static(Text(""), id="alerts")
        yield Sparkline([], id="flow")
        with Horizontal(id="tables"):
            yield DataTable(id="sources", cursor_type="none")
            yield DataTable(id="handlers", cursor_type="none")
        yield Input(self._wanted, placeholder="filter: source:stripe type:invoice.* state:dead since:2h", id="filter")
        yield Static(Text(""), id="told")
        yield DataTable(id="events", cursor_type="row")
        yield Footer()

    async def on_mount(self) -> None:
        headings = {
            "sources": figures.SOURCE_HEADINGS,
            "handlers": figures.HANDLER_HEADINGS,
            "events": figures.EVENT_HEADINGS,
        }
        for name, titles in headings.items():
            for title in titles:
                self._table(name).add_column(title, key=title)
        self._table("sources").can_focus = self._table("handlers").can_focus = False
        self._table("events").focus()
        self.set_interval(LOOK_SECONDS, self.look)
        self.call_later(self.look)

    async def on_unmount(self) -> None:
        await self._desk.close()

    async def look(self) -> None:
        """Both questions. What fails is said, and what was there before stays, with its time."""
        if self._is_paused:
            return
        try:
            await self._desk.open()
            seen = await overview(self._desk, OverviewAsked(minutes=WINDOW_MINUTES))
            found = await events(self._desk, EventsAsked(filter=self._wanted, limit=EVENTS_SHOWN))
        except LandfastError as error:
            self._title(said(f"stale since {self._seen_at}: {error}", "bold red"))
            return
        self._seen_at = f"{seen.at:%H:%M:%S} UTC"
        self._title(Text(f"live, {self._seen_at}", "green").append(f"   rates of the last {WINDOW_MINUTES} min", "dim"))
        self._say("figures", figures.headline(seen))
        self._say("alerts", figures.alerts(seen))
        self.query_one("#flow", Sparkline).data = [float(one.received) for one in seen.series[:-1]]
        self._fill("sources", figures.source_rows(seen))
        self._fill("handlers", figures.handler_rows(seen))
        self._fill("events", ((one.id, figures.event_row(one)) for one in found.events))
        far = f" among the newest {found.searched:,}" if found.searched is not None else ""
        more = " or more" if found.next else ""
        if not self._is_misread:
            self._say("told", Text(f"{len(found.events)}{more} events{far}", "dim"))

    async def on_input_submitted(self, given: Input.Submitted) -> None:
        """What cannot be read is pointed at until it is mended or left, and the list stays as it was."""
        try:
            await self._desk.open()
            await events(self._desk, EventsAsked(filter=given.value, limit=1))
        except LandfastError as error:
            self._is_misread = True
            self._say("told", Text(safe(str(error), lines=True), "bold red"))
            return
        self._wanted, self._is_misread = given.value, False
        self._table("events").focus()
        await self.look()

    async def on_data_table_row_selected(self, _chosen: DataTable.RowSelected) -> None:
        await self.action_open()

    def action_filter(self) -> None:
        self.query_one("#filter", Input).focus()

    def action_move(self, step: int) -> None:
        table = self._table("events")
        table.move_cursor(row=max(0, min(table.row_count - 1, table.cursor_row + step)))

    async def action_open(self) -> None:
        table = self._table("events")
        if not table.row_count or table is not self.focused:
            return
        key = table.coordinate_to_cell_key(table.cursor_coordinate).row_key.value or ""
        try:
            view = await event(self._desk, EventAsked(event=key))
        except LandfastError as error:
            self._say("told", said(error, "bold red"))
            return
        self.push_screen(EventScreen(figures.event_text(view)))

    def action_pause(self) -> None:
        self._is_paused = not self._is_paused
        if self._is_paused:
            self._title(said(f"paused at {self._seen_at}", "yellow"))
        else:
            self.call_later(self.look)

    def action_help(self) -> None:
        self.push_screen(HelpScreen())

    def on_key(self, pressed: object) -> None:
        if getattr(pressed, "key", "") == "escape" and isinstance(self.focused, Input):
            self._is_misread = False
            self._table("events").focus()

    def _title(self, state: Text) -> None:
        self._say("title", Text("Landfast  ", "bold").append_text(state))

    def _say(self, name: str, text: Text) -> None:
        self.query_one(f"#{name}", Static).update(text)

    def _table(self, name: str) -> Table:
        return self.query_one(f"#{name}", DataTable)

    def _fill(self, name: str, rows: Iterable[tuple[str, Row]]) -> None:
        """In place where the same rows are there, so that whoever has chosen one keeps it."""
        table, wanted = self._table(name), dict(rows)
        if [key.value for key in table.rows] == list(wanted):
            self._update(table, wanted)
            return
        chosen = None
        if table.row_count and table.cursor_type == "row":
            chosen = table.coordinate_to_cell_key(table.cursor_coordinate).row_key.value
        table.clear()
        for key, cells in wanted.items():
            table.add_row(*cells, key=key)
        if chosen in wanted:
            table.move_cursor(row=table.get_row_index(chosen))

    def _update(self, table: Table, wanted: Mapping[str, Row]) -> None:
        for key, cells in wanted.items():
            for column, cell in zip(table.columns, cells, strict=True):
                if table.get_cell(key, column) != cell:
                    table.update_cell(key, column, cell, update_width=True)
