"""`perf run`: measure a job matrix, or one job of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from perfcore_command_kit.extensible_group import ExtensibleGroup

from perfcore.cli.console import Console
from perfcore.cli.options import (
    Add,
    AsJson,
    Continue,
    Cpu,
    DryRun,
    EachNth,
    Every,
    ExecutorName,
    Last,
    Missing,
    NoBuild,
    Rebuild,
    Since,
    Tags,
    Until,
    Version,
    seconds,
)
from perfcore.cli.summary_table import measure
from perfcore.config.documents import Source
from perfcore.measure.request import select_versions, working_directory
from perfcore_command_run import matrix
from perfcore_command_run.matrix import Matrix
from perfcore_command_run.request import matrix_of_config, matrix_of_file, matrix_request
from perfcore_command_run.workloads import generated

Repeat = Annotated[
    int | None,
    typer.Option("--repeat", "-r", min=1, metavar="N", help="The number of runs; overrides the matrix."),
]
Warmup = Annotated[
    int | None,
    typer.Option("--warmup", min=0, metavar="N", help="The number of warm-up runs, which do not count."),
]
Budget = Annotated[
    str | None,
    typer.Option("--budget", "-t", metavar="SECONDS", help="Measure for this long instead of a number of runs."),
]


def new_app() -> typer.Typer:
    """A new Typer app with both commands."""
    app = typer.Typer(
        cls=ExtensibleGroup,
        rich_markup_mode=None,
        add_completion=False,
        pretty_exceptions_enable=False,
        no_args_is_help=True,
        help="Measure a job matrix, or a job of its own, for one version or many.",
    )
    app.command("matrix", short_help="Measure every command of a matrix, under every collector.")(run_matrix)
    app.command("job", short_help="Measure one job: a small matrix on the command line.")(run_job)
    return app


def run_matrix(
    ctx: typer.Context,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            help="A YAML file with the matrix; default: the configuration.",
            show_default=False,
        ),
    ] = None,
    version: Version = None,
    since: Since = None,
    until: Until = None,
    tags: Tags = None,
    every: Every = False,
    last: Last = None,
    step: EachNth = 1,
    missing: Missing = False,
    resume: Continue = False,
    executor: ExecutorName = None,
    register: Add = False,
    no_build: NoBuild = False,
    rebuild: Rebuild = False,
    repeat: Repeat = None,
    warmup: Warmup = None,
    cpu: Cpu = None,
    budget: Budget = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Measure the job matrix: every command with its arguments and workloads, under every collector.

    The matrix is FILE, or the keys bins, args, workloads, collectors and postprocessors of the configuration.
    Commands of FILE run in the current folder, those of the configuration at the root of the tree.
    """
    console: Console = ctx.obj
    repository = console.history.repository
    chosen = matrix_of_file(repository, file) if file is not None else matrix_of_config(repository, run=not dry_run)
    _measure(
        console,
        chosen,
        cwd=Path() if file is None else working_directory(repository),
        versions=select_versions(repository, version, since, every, until, tags, last=last, step=step),
        schedule=_schedule(repeat, warmup, budget, cpu),
        register=register,
        missing=missing,
        resume=resume,
        executor=executor,
        no_build=no_build,
        rebuild=rebuild,
        as_json=as_json,
        dry_run=dry_run,
    )


def run_job(
    ctx: typer.Context,
    command: Annotated[
        list[str], typer.Option("--command", "-c", metavar="TEXT", help="A command; several are interleaved.")
    ],
    args: Annotated[
        list[str] | None, typer.Option("--args", metavar="TEXT", help="Arguments. Repeatable: one job for each.")
    ] = None,
    workload: Annotated[
        list[str] | None,
        typer.Option("--workload", "-w", metavar="TEXT", help="A workload. Repeatable: one job for each."),
    ] = None,
    collector: Annotated[
        list[str] | None,
        typer.Option(
            "--collector",
            metavar="NAME",
            help="A collector, with its configured options (default: time).",
        ),
    ] = None,
    postprocess: Annotated[
        list[str] | None,
        typer.Option("--postprocess", "-p", metavar="NAME", help="A postprocessor, with its configured options."),
    ] = None,
    shell: Annotated[bool, typer.Option("--shell", help="Let a shell run the commands.")] = False,
    version: Version = None,
    since: Since = None,
    until: Until = None,
    tags: Tags = None,
    every: Every = False,
    last: Last = None,
    step: EachNth = 1,
    missing: Missing = False,
    resume: Continue = False,
    dry_run: DryRun = False,
    executor: ExecutorName = None,
    register: Add = False,
    no_build: NoBuild = False,
    rebuild: Rebuild = False,
    repeat: Repeat = None,
    warmup: Warmup = None,
    cpu: Cpu = None,
    budget: Budget = None,
    as_json: AsJson = False,
) -> None:
    """Measure one job: a small matrix on the command line."""
    console: Console = ctx.obj
    repository = console.history.repository
    values = {
        "bins": [{"name": text, "shell": shell} for text in command],
        "args": args or [],
        "workloads": workload or [],
        "collectors": collector or ["time"],
        "postprocessors": postprocess or [],
    }
    _measure(
        console,
        matrix.parse(values, where=Source("the command line")),
        cwd=working_directory(repository),
        versions=select_versions(repository, version, since, every, until, tags, last=last, step=step),
        schedule=_schedule(repeat, warmup, budget, cpu),
        register=register,
        missing=missing,
        resume=resume,
        executor=executor,
        no_build=no_build,
        rebuild=rebuild,
        as_json=as_json,
        dry_run=dry_run,
    )


def _measure(
    console: Console,
    chosen: Matrix,
    *,
    cwd: Path,
    versions: tuple[str, ...] | None,
    schedule: Mapping[str, Any],
    register: bool,
    missing: bool,
    resume: bool,
    executor: str | None,
    no_build: bool,
    rebuild: bool,
    as_json: bool,
    dry_run: bool,
) -> None:
    repository = console.history.repository
    # Before the plan is made: a workload counts for the configuration by its content, and no run waits for a file.
    with generated(repository, () if dry_run else chosen.generators, console) as files:
        request = matrix_request(
            repository,
            chosen,
            files,
            cwd=cwd,
            versions=versions,
            schedule=schedule,
            register=register,
            missing=missing,
            build=not (no_build or dry_run),
            rebuild=rebuild,
            resume=resume,
            executor=executor,
        )
        measure(console, repository, request, as_json=as_json, dry_run=dry_run)
        for generator in chosen.generators if dry_run else ():
            console.note(f"{generator.label} counts as one job here; a run has one for each file that it generates")


def _schedule(repeat: int | None, warmup: int | None, budget: str | None, cpu: str | None) -> dict[str, Any]:
    limits = {"repeat": repeat, "warmup": warmup, "budget": seconds("--budget", budget), "cpu": cpu}
    return {key: value for key, value in limits.items() if value is not None}
