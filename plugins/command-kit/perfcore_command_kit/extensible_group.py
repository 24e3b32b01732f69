"""Verbs with commands of their own, below which plugins add theirs."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

from perfcore.cli.console import console_of
from perfcore.cli.extensions import plugin_command, unknown_command
from perfcore.errors import PerfError
from perfcore.text import printable


class ExtensibleGroup(TyperGroup):
    """A verb with commands of its own, to which plugins add some: the entry point `plugins.new` is `perf plugins new`.
    A command of the verb itself wins over one of a plugin."""

    def list_commands(self, ctx: Any) -> list[str]:
        builtin = super().list_commands(ctx)
        return [*builtin, *(name for name in self._added(ctx) if name not in builtin)]

    def get_command(self, ctx: Any, name: str) -> Any:
        builtin = super().get_command(ctx, name)
        if builtin is not None or name not in self._added(ctx):
            return builtin
        return plugin_command(console_of(ctx), f"{self.name}.{name}")

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        names = self.list_commands(ctx)
        if args[0] not in names and not ctx.resilient_parsing:  # set while a shell completes half a word
            raise unknown_command(ctx, args[0], names, str(self.name))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        rows = [(name, self._short_help(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def _short_help(self, ctx: Any, name: str) -> str:
        try:
            text: str = self.get_command(ctx, name).get_short_help_str(limit=80)
        except PerfError as error:  # a plugin that is broken does not hide the help of the others
            text = f"cannot be used: {error}"
        return printable(text)

    def _added(self, ctx: Any) -> tuple[str, ...]:
        """The commands that plugins add below this verb: `new` for the entry point `plugins.new` of `plugins`."""
        plugins = console_of(ctx).plugins
        prefix = f"{self.name}."
        return tuple(name.removeprefix(prefix) for name in plugins.commands() if name.startswith(prefix))
