"""Options of a view behind a verb that draws by `--view NAME`: `perf history --view heatmap --baseline median`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typer.core import TyperCommand

from perfcore.cli.console import Console, console_of
from perfcore.config.settings import Option, options_of
from perfcore.plugins.drivers import settings_of
from perfcore_command_kit.plugin_options import run_plugin_command

_VIEW_WORDS = "perfcore.view_words"  # where `TakesViewOptions` puts them in the context's `meta`
_HELP = ("--help", "-h")


class TakesViewOptions(TyperCommand):
    """A verb with an option `--view`, which takes the options of that view, too; one that both have is the verb's. With
    `--view NAME --help` it prints the options of the view. Mix it in before another command."""

    default_view = ""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        own, separator = args, len(args)
        if "--" in args:
            separator = args.index("--")
            own = args[:separator]
        view = _view_of(own)
        if view and any(word in _HELP for word in own):
            parsed_view_options(console_of(ctx), view, ["--help"], str(ctx.command_path))
        flags = {flag for parameter in self.params for flag in (*parameter.opts, *parameter.secondary_opts)}
        words = _words_of(own, _options(console_of(ctx), view or self.default_view), flags)
        taken = {position for position, _ in words}
        ctx.meta[_VIEW_WORDS] = [word for _, word in words]
        kept = [word for position, word in enumerate(own) if position not in taken]
        return super().parse_args(ctx, [*kept, *args[separator:]])


def view_options(ctx: Any, view: str) -> dict[str, Any]:
    """The options of the view that the command line gives, checked by its Settings; nothing where it gives none."""
    words = ctx.meta.get(_VIEW_WORDS, [])
    return parsed_view_options(ctx.obj, view, words, str(ctx.command_path)) if words else {}


def parsed_view_options(console: Console, view: str, words: Sequence[str], prog: str) -> dict[str, Any]:
    """Options of a view by their keys. UsageError for a wrong one; `--help` prints them and exits."""
    given: dict[str, Any] = {}

    def take(*, values: dict[str, Any]) -> None:
        given.update(values)

    run_plugin_command(console.plugins, "view", view, words, take, f"{prog} --view {view}")
    return given


def _view_of(words: Sequence[str]) -> str:
    """The view that `--view NAME` or `--view=NAME` names; the last one counts, as for any option."""
    view = ""
    for position, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name == "--view":
            view = value if equals else next(iter(words[position + 1 :]), "")
    return view


def _options(console: Console, view: str) -> Sequence[Option]:
    """None where there is no such view: whoever draws with it says so."""
    if not console.plugins.has("view", view):
        return ()
    settings = settings_of(console.plugins.load("view", view)[1])
    return options_of(settings) if settings else ()


def _words_of(words: Sequence[str], options: Sequence[Option], own: set[str]) -> list[tuple[int, str]]:
    """The words that are options of the view, and their values, with their positions."""
    without_value, with_value = set[str](), set[str]()
    for option in options:
        flags = {option.flag, *option.info.flags}
        if option.type is bool and not option.many:
            without_value |= flags | {f"--no-{option.flag[2:]}"}
        else:
            with_value |= flags
    chosen: list[tuple[int, str]] = []
    for position, word in enumerate(words):
        name, equals, _ = word.partition("=")
        if name in own or name not in without_value | with_value:
            continue
        chosen.append((position, word))
        if name in with_value and not equals and position + 1 < len(words):
            chosen.append((position + 1, words[position + 1]))
    return chosen
