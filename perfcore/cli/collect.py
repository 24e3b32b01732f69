"""`perf collect`: measure commands with one collector."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Annotated, Any, Optional

import attrs
import typer
from typer.core import TyperCommand, TyperGroup

from perfcore.cli import options
from perfcore.cli.console import Console
from perfcore.config.settings import Option, options_of
from perfcore.errors import UsageError
from perfcore.measure import commands
from perfcore.measure.request import MeasureRequest, configured_build, select_versions, working_directory
from perfcore.measure.schedule import Schedule, split_options
from perfcore.model import Job, Step
from perfcore.plugins.drivers import guard, settings_of
from perfcore.plugins.installed import PluginInfo


class Collector(TyperCommand):
    """One of them. Its help is kept for the next time."""

    def get_help(self, ctx: Any) -> str:
        from perfcore.cli import help_page

        text: str = super().get_help(ctx)
        help_page.remember(ctx.obj, ctx.info_name, text)
        return text


class Collectors(TyperGroup):
    """The collectors that are installed, each a command with the options of its Settings."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(ctx.obj.plugins.names("collector"))

    def get_command(self, ctx: Any, name: str) -> Any:
        found, driver = ctx.obj.plugins.load("collector", name)
        single = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
        single.command(
            cls=Collector,
            help=(inspect.getdoc(driver) or "").strip(),
            # What stands behind the command is the command's, also where it looks like an option of ours.
            context_settings={"help_option_names": ["-h", "--help"], "allow_interspersed_args": False},
        )(options.with_options(_collect(name), _options(found, driver), found))
        return options.named(single, name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        names = self.list_commands(ctx)
        with formatter.section("Collectors"):
            formatter.write_dl([(name, f"`perf collect {name} --help`") for name in names] or [("(none)", "")])


app = typer.Typer(
    cls=Collectors,
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    help="Measure commands with one collector; the profiles become pending.",
)


@app.callback()
def collectors() -> None: ...


def _options(found: PluginInfo, driver: type[Any]) -> list[Option]:
    """Those of the schedule, with the defaults that the collector has for them, and its own."""
    settings = settings_of(driver)
    with guard(found, "schedule"):
        defaults = dict(getattr(driver, "schedule", {}))
    schedule = [o._replace(default=defaults.get(o.name, o.default)) for o in options_of(Schedule)]
    return [*schedule, *(options_of(settings) if settings else ())]


def _collect(collector: str) -> Any:
    def collect(
        ctx: typer.Context,
        argv: Annotated[
            Optional[list[str]],
            typer.Argument(metavar="[--] COMMAND [ARG]...", help="The command.", show_default=False),
        ] = None,
        command: Annotated[
            Optional[list[str]],
            typer.Option(
                "--command", "-c", metavar="TEXT", help="A command as one text, instead of COMMAND; several take turns."
            ),
        ] = None,
        workload: Annotated[
            Optional[list[str]],
            typer.Option(
                "--workload", "-w", metavar="WORD", help="The last argument of each command; repeatable, one job each."
            ),
        ] = None,
        param: Annotated[
            Optional[list[str]],
            typer.Option("--param", "-P", metavar="NAME=1..10", help="Put each of 1..10 or a,b,c in place of {NAME}."),
        ] = None,
        version: options.Version = None,
        since: options.Since = None,
        until: options.Until = None,
        tags: options.Tags = None,
        every: options.Every = False,
        last: options.Last = None,
        nth: options.EachNth = 1,
        missing: options.Missing = False,
        resume: options.Continue = False,
        dry_run: options.DryRun = False,
        executor: options.ExecutorName = None,
        shell: Annotated[bool, typer.Option("--shell", help="Let a shell run the command.")] = False,
        cwd: options.Cwd = None,
        env: Annotated[
            Optional[list[str]],
            typer.Option("--env", "-e", metavar="NAME=VALUE", help="Set a variable for the command."),
        ] = None,
        postprocess: Annotated[
            Optional[list[str]],
            typer.Option(
                "--postprocess", "-p", metavar="NAME", help="Apply this postprocessor, with its configured options."
            ),
        ] = None,
        register: options.Add = False,
        no_build: options.NoBuild = False,
        rebuild: options.Rebuild = False,
        as_json: options.AsJson = False,
        *,
        values: dict[str, Any],
    ) -> None:
        from perfcore.cli.summary_table import measure  # not for the help

        console: Console = ctx.obj
        repository = console.repository
        schedule, params = split_options(values)
        directory = working_directory(repository, cwd)
        step = Step(name=collector, params=params)
        steps = tuple(Step(name=name) for name in postprocess or ())
        jobs = [
            attrs.evolve(job, cwd=directory, env=options.variables(env or []), collector=step, postprocessors=steps)
            for job in _commands(argv or [], command or [], workload or [], param or [], shell)
        ]
        measure(
            console,
            repository,
            MeasureRequest(
                jobs=tuple(jobs),
                versions=select_versions(repository, version, since, every, until, tags, last=last, step=nth),
                schedule=schedule,
                building=configured_build(repository, skip=no_build or dry_run, rebuild=rebuild),
                register=register,
                missing=missing,
                resume=resume,
                executor=executor,
            ),
            as_json=as_json,
            dry_run=dry_run,
        )

    return collect


def _commands(argv: list[str], texts: list[str], workloads: list[str], params: list[str], shell: bool) -> list[Job]:
    if argv and texts:
        raise UsageError("a command stands either after `--` or in --command, not in both")
    words = [[text] if shell else commands.split(text, "--command") for text in texts] or [argv]
    values: list[tuple[list[str], Mapping[str, str]]] = [(command, {}) for command in words]
    if params:
        from perfcore.measure.params import filled

        values = filled(words, params, shell=shell)
    return [
        attrs.evolve(commands.job(command, workload=load, shell=shell), params=chosen)
        for command, chosen in values
        for load in ([[load] for load in workloads] or [[]])
    ]
