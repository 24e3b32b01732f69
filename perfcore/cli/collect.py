"""`perf collect`: measure commands with one collector."""

from __future__ import annotations

import inspect
from typing import Annotated, Any, Optional

import typer
from typer.core import TyperCommand, TyperGroup

from perfcore.cli import collect_plain, options
from perfcore.cli.console import Console
from perfcore.cli.summary_table import measure
from perfcore.errors import UsageError
from perfcore.measure import commands
from perfcore.measure.params import filled
from perfcore.measure.request import MeasureRequest, configured_build, select_versions, working_directory
from perfcore.measure.schedule import split_options
from perfcore.model import Job, Step
from perfcore.model.record import replace

Texts = Optional[list[str]]


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
        )(options.with_options(_collect(name), collect_plain.options_of(found, driver), found))
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


def _collect(collector: str) -> Any:
    def collect(
        ctx: typer.Context,
        argv: Annotated[
            Texts, typer.Argument(metavar="[--] COMMAND [ARG]...", help="The command.", show_default=False)
        ] = None,
        command: Annotated[
            Texts,
            typer.Option(
                "--command", "-c", metavar="TEXT", help="A command as one text, instead of COMMAND; several take turns."
            ),
        ] = None,
        workload: Annotated[
            Texts,
            typer.Option(
                "--workload", "-w", metavar="WORD", help="The last argument of each command; repeatable, one job each."
            ),
        ] = None,
        param: Annotated[
            Texts,
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
            Texts, typer.Option("--env", "-e", metavar="NAME=VALUE", help="Set a variable for the command.")
        ] = None,
        postprocess: Annotated[
            Texts,
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
        console: Console = ctx.obj
        repository = console.repository
        schedule, params = split_options(values)
        directory = working_directory(repository, cwd)
        step, steps = Step(name=collector, params=params), tuple(Step(name=name) for name in postprocess or ())
        jobs = [
            replace(job, cwd=directory, env=options.variables(env or []), collector=step, postprocessors=steps)
            for job in _commands(argv or [], command or [], workload or [], param or [], shell)
        ]
        request = MeasureRequest(
            jobs=tuple(jobs),
            versions=select_versions(repository, version, since, every, until, tags, last=last, step=nth),
            schedule=schedule,
            building=configured_build(repository, skip=no_build or dry_run, rebuild=rebuild),
            register=register,
            missing=missing,
            resume=resume,
            executor=executor,
        )
        measure(console, repository, request, as_json=as_json, dry_run=dry_run)

    return collect


def _commands(argv: list[str], texts: list[str], workloads: list[str], params: list[str], shell: bool) -> list[Job]:
    if argv and texts:
        raise UsageError("a command stands either after `--` or in --command, not in both")
    words = [[text] if shell else commands.split(text, "--command") for text in texts] or [argv]
    values = filled(words, params, shell=shell) if params else [(command, {}) for command in words]
    return [
        replace(commands.job(command, workload=load, shell=shell), params=chosen)
        for command, chosen in values
        for load in ([[load] for load in workloads] or [[]])
    ]
