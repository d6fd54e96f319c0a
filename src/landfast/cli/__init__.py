"""The `landfast` command. Thin: parse, call, print."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import MappingProxyType

import click

from landfast import __version__
from landfast.cli.examples import add_examples
from landfast.domain.errors import LandfastError, StoreError

NEGATIVE = 1
"""The command did its work, and the answer is no: not found, proof fails, a check fails."""
MISUSE = 2
INTERRUPTED = 130
"""128 + SIGINT, as every shell knows it."""
TERMINATED = 143
"""128 + SIGTERM."""

COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "init": "Write a handlers.py and a landfast.toml to start from.",
        "serve": "Take webhooks in and process them.",
        "work": "Process events; something else takes them in.",
        "drain": "Bring what a journal holds into the inbox.",
        "demo": "The storm: thousands of deliveries of one event, one order.",
        "send": "Send a signed sample webhook to a running inbox.",
        "listen": "Forward what a hosted inbox receives to this machine.",
        "prove": "Find what is wrong with a handler, on a copy of the database.",
        "sources": "List sources and their secrets, check them, or change a secret.",
        "verify-signature": "Say whether a request is genuine, and why not.",
        "events": "List events, show one with its history, or carry them elsewhere.",
        "dead": "List dead letters, group them, show one, or close them for good.",
        "lanes": "List entities whose events wait, and have one go on.",
        "held": "List events that are held, and process or discard them.",
        "unhandled": "Count events that no handler takes, by type.",
        "lifecycle": "Draw a lifecycle, or say which state an entity is in.",
        "effects": "List effects, or perform dead ones again.",
        "pause": "Stop processing a source or a handler; it is still taken in.",
        "resume": "Go on with what was paused.",
        "retry": "Try delayed events now.",
        "replay": "Run dead letters, or other events, again.",
        "reconcile": "Find what never arrived, and take it in.",
        "duplicates": "Find rows that an earlier handler wrote twice.",
        "erase": "Destroy what events brought; that they came stays known.",
        "retention": "Show how long things are kept, or remove what is old.",
        "seal": "Draw a master key, or change to another.",
        "audit": "Show who changed what by hand, and check that log.",
        "proof": "Check that nothing was lost and nothing doubled.",
        "status": "See what flows, what fails, what waits, and who is at work.",
        "top": "The overview in a terminal, live; an extra.",
        "rejected": "List requests that were refused, and why.",
        "alerts": "List what is wrong now, silence it, or try the sinks.",
        "doctor": "Look for whatever is wrong, and say how to put it right.",
        "compact": "Give back to the disk what a SQLite inbox does not need.",
        "tokens": "Make, list and revoke tokens for the admin API.",
        "sessions": "Who is signed in at the identity provider; end a session.",
        "mcp": "Offer all of this to an assistant, as tools.",
        "migrate": "Bring both databases up to date.",
        "recover": "Repair after a database lost its tail.",
    }
)
"""Every command with its one line. The module of the same name holds it, and is imported when it is used."""

ELSEWHERE: Mapping[str, str] = MappingProxyType({"demo": "landfast.demo.command:demo"})
"""Commands whose module is not in this package: no server imports the demo."""

HIDDEN: Mapping[str, str] = MappingProxyType(
    {
        "_intake": "landfast.cli.serve:intake",
        "_admin": "landfast.cli.serve:admin_",
        "_try": "landfast.cli.serve:try_out",
    }
)
"""What only Landfast itself calls."""

EXAMPLES = """
\b
Examples:
  landfast init                                 start from nothing
  landfast serve handlers:inbox                 take webhooks in and process them
  landfast send stripe payment_intent.succeeded send one, signed, to that server
  landfast prove handlers:inbox                 would a crash or a duplicate make a handler write twice?
  landfast sources check                        will they be believed, and believe the right ones?
  landfast dead list source:stripe since:2h     what failed lately, and why
  landfast replay state:dead error:KeyError     run those again, after the fix
  landfast proof                                nothing lost, nothing doubled
"""


class LateCommands(click.Group):
    """Commands by name: `--help` lists them without importing any."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        if place := {**ELSEWHERE, **HIDDEN}.get(cmd_name):
            module, _, attribute = place.partition(":")
        elif cmd_name in COMMANDS:
            attribute = cmd_name.replace("-", "_")
            module = f"landfast.cli.{attribute}"
        else:
            return None
        found: click.Command = getattr(import_module(module), attribute)
        add_examples(found, cmd_name)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in {*COMMANDS, *HIDDEN} and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"the commands are {', '.join(COMMANDS)}"
            raise click.UsageError(f"There is no command {args[0]!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        with formatter.section("Commands"):
            # A long name has its line below it, and does not push all the others aside.
            formatter.write_dl(list(COMMANDS.items()), col_max=max(map(len, COMMANDS)) // 2)


@click.group(cls=LateCommands, epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="landfast")
def landfast() -> None:
    """A webhook inbox: proves who sent a webhook, keeps it before it answers, and processes it exactly once."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it; the exit code. Whatever a user can cause ends in one sentence on stderr, never in a traceback."""
    try:
        result = landfast.main(arguments and list(arguments), prog_name="landfast", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except LandfastError as error:
        from landfast.cli.output import safe

        more = "; landfast doctor says more" if isinstance(error, StoreError) else ""
        click.echo(f"landfast: {safe(str(error))}{more}", err=True)
        return MISUSE
    return result if isinstance(result, int) else 0
