"""Commands of the command line that take a command to measure behind `--`."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

COMMAND = "perfcore.command"  # where `WithCommand` puts it in the context's `meta`


class WithCommand(TyperCommand):
    """A verb behind whose `--` stands a command, whatever that looks like; its own options stand before, in any
    order."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "--" in args:
            separator = args.index("--")
            ctx.meta[COMMAND], args = args[separator + 1 :], args[:separator]
        return super().parse_args(ctx, args)
