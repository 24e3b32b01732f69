"""Command lines: options made from Settings classes, so that an option is declared in one place."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Optional

import typer
from typer.models import OptionInfo

from perfcore.config.settings import Option, parse_seconds
from perfcore.errors import PluginError, UsageError
from perfcore.plugins.installed import PluginInfo

# Options of the verbs that measure.
Version = Annotated[
    Optional[list[str]],
    typer.Option(
        "--version",
        "-v",
        metavar="REV",
        help="Measure this version, or the range A..B, each in a tree of its own; several are interleaved.",
    ),
]
Since = Annotated[Optional[str], typer.Option("--since", metavar="REV|DATE", help="Versions after it, or from a date.")]
Until = Annotated[Optional[str], typer.Option("--until", metavar="REV|DATE", help="Versions up to it, or to a date.")]
Tags = Annotated[Optional[str], typer.Option("--tags", metavar="PATTERN", help="Versions whose tag matches; '*': any.")]
Every = Annotated[bool, typer.Option("--all", help="Measure every version of the branch.")]
Last = Annotated[Optional[int], typer.Option("--last", metavar="N", min=1, help="Only the N newest of these.")]
EachNth = Annotated[int, typer.Option("--every", metavar="N", min=1, help="Only each Nth of these, from the newest.")]
Missing = Annotated[bool, typer.Option("--missing", help="Versions without such a profile, and 3 before 8 or more.")]
Continue = Annotated[bool, typer.Option("--continue", help="Only runs that an interrupted command did not measure.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only list the versions, runs and expected time.")]
ExecutorName = Annotated[
    Optional[str], typer.Option("--executor", metavar="NAME", help="The executor: `local`, or an installed one.")
]
Add = Annotated[bool, typer.Option("--add", help="Register the profiles at once.")]
Cwd = Annotated[Optional[Path], typer.Option("--cwd", metavar="PATH", help="Folder below the tree's root to run in.")]
NoBuild = Annotated[bool, typer.Option("--no-build", help="Do not run execute.pre_run.")]
Rebuild = Annotated[bool, typer.Option("--rebuild", help="Run execute.pre_run, whatever was built before.")]
Cpu = Annotated[Optional[str], typer.Option("--cpu", metavar="LIST", help="The CPUs to run on, such as 1, or 0-3,5.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_METAVARS = {"int": "N", "float": "X", "str": "TEXT", "Path": "PATH"}


def variables(settings: Sequence[str], option: str = "--env", form: str = "NAME=VALUE") -> dict[str, str]:
    """The environment variables of several `--env NAME=VALUE`, or what another option gives in such a form."""
    values = {}
    for text in settings:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise UsageError(f"{option} wants {form}, got {text!r}")
        values[key] = value
    return values


def seconds(option: str, text: str | None) -> float | None:
    """The seconds that an option gives, such as `90`, `500ms` or `2m`; None where it is not given."""
    try:
        return None if text is None else parse_seconds(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from error


def with_options(function: Callable[..., Any], options: Sequence[Option], found: PluginInfo) -> Callable[..., Any]:
    """The function with these options of a plugin behind its own parameters. PluginError where one of them is
    written like another.

    It must have a parameter `values`, in which it gets those that were given, as a dict by key.
    """
    parameters = [p for name, p in inspect.signature(function, eval_str=True).parameters.items() if name != "values"]
    flags = {"--help", "-h", *(flag for parameter in parameters for flag in _flags(parameter))}
    added = {f"option_{option.name}": _parameter(option) for option in options}
    for parameter in added.values():
        for flag in _flags(parameter):
            if flag in flags:
                raise PluginError(f"its option {flag} is there already", plugin=str(found), phase="loading")
            flags.add(flag)

    def command(**arguments: Any) -> Any:
        given = {name.removeprefix("option_"): arguments.pop(name) for name in added}
        # What was not given has the default of the Settings.
        values = {name: value for name, value in given.items() if value not in (None, [], ())}
        return function(**arguments, values=values)

    all_parameters = [*parameters, *added.values()]
    command.__signature__ = inspect.Signature(all_parameters)  # type: ignore[attr-defined]
    # Typer reads parameters off the signature and the annotations.
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in all_parameters}
    command.__doc__ = function.__doc__
    command.__name__ = function.__name__
    return command


def named(app: typer.Typer, name: str) -> Any:
    """The command of a Typer app under a name."""
    command = typer.main.get_command(app)
    command.name = name
    return command


def invoke(command: Any, words: Sequence[str], prog: str) -> Any:
    """Parse and call a command. Unlike calling its app, this leaves interrupts and closed pipes to the caller."""
    with command.make_context(prog, list(words)) as context:
        return command.invoke(context)


def _parameter(option: Option) -> inspect.Parameter:
    info = option.info
    annotation: Any = Optional[list[str]] if option.many else Optional[bool] if option.type is bool else Optional[str]
    metavar = info.metavar or ("|".join(info.choices) if info.choices else None)
    metavar = metavar or ("SECONDS" if info.unit == "s" else _METAVARS.get(option.type.__name__, "TEXT"))
    annotated = Annotated[
        annotation,
        typer.Option(
            *option.spellings,
            help=help_of(option),
            metavar=None if option.type is bool else metavar,
            show_default=False,
        ),
    ]
    name = f"option_{option.name}"
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotated)


def _flags(parameter: inspect.Parameter) -> list[str]:
    """How an option is written: `-r`, `--repeat`; nothing for an argument."""
    infos = [item for item in getattr(parameter.annotation, "__metadata__", ()) if isinstance(item, OptionInfo)]
    # In an annotation, the first spelling stands in the place of a default until Typer moves it.
    declarations = [declared for item in infos for declared in (item.default, *(item.param_decls or ()))]
    return [flag for declared in declarations if isinstance(declared, str) for flag in declared.split("/")]


def help_of(option: Option) -> str:
    """What an option says of itself, in one line."""
    info, parts = option.info, []
    if option.required:
        parts.append("required")
    elif option.default not in (None, (), "") and option.default is not False:
        parts.append(f"default: {_shown(option.default)}")
    if info.unit and info.unit != "s":
        parts.append(f"in {info.unit}")
    if info.env:
        parts.append(f"or from ${info.env}")
    return f"{info.help} [{'; '.join(parts)}]" if parts else info.help


def _shown(default: Any) -> str:
    if isinstance(default, tuple):
        return ", ".join(map(str, default))
    if default is True:
        return "on"
    return f"{default:g}" if isinstance(default, float) else str(default)
