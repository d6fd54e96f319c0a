"""Groups of commands: what each says of its own, and which one is meant when none is named."""

from __future__ import annotations

import difflib

import click

SENTENCE_CHARACTERS = 400
"""A command's first sentence is listed whole, over several lines if need be: half of one helps nobody."""


class Commands(click.Group):
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._sentence(ctx, name)) for name in self.list_commands(ctx)])

    def _sentence(self, ctx: click.Context, name: str) -> str:
        found = self.get_command(ctx, name)
        return found.get_short_help_str(SENTENCE_CHARACTERS) if found is not None else ""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], self.commands, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(self.list_commands(ctx))}"
            raise click.UsageError(f"There is no command {args[0]!r} in {ctx.command_path!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)


class ListsByDefault(Commands):
    """`landfast lanes` means `landfast lanes list`, and `landfast lanes --json` means `landfast lanes list --json`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_meant = not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names)
        return super().parse_args(ctx, ["list", *args] if is_meant else args)
