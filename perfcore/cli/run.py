"""`perf run`: measure a job matrix, or one job of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Optional

import attrs
import typer

from perfcore.cli.console import Console
from perfcore.cli.measuring import Request, measure, select_versions
from perfcore.config import parse_yaml, read_bytes
from perfcore.errors import NotFoundError, UsageError
from perfcore.jobs import matrix
from perfcore.jobs.matrix import KEYS, Matrix
from perfcore.repository import Repository
from perfcore.settings import parse_seconds

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    help="Measure a job matrix, or a job of its own, for one version or many.",
)

Version = Annotated[
    Optional[list[str]],
    typer.Option(
        "--version",
        "-v",
        metavar="REV",
        help="Measure this version, in a tree of its own; several are interleaved.",
    ),
]
Since = Annotated[Optional[str], typer.Option("--since", metavar="REV", help="Measure the versions after this one.")]
Every = Annotated[bool, typer.Option("--all", help="Measure every version of the branch.")]
Missing = Annotated[bool, typer.Option("--missing", help="Only versions without such a profile.")]
Add = Annotated[bool, typer.Option("--add", "-a", help="Register the profiles at once.")]
NoBuild = Annotated[bool, typer.Option("--no-build", help="Do not run execute.pre_run.")]
Repeat = Annotated[
    Optional[int],
    typer.Option("--repeat", "-r", min=1, metavar="N", help="How many runs, whatever the matrix says."),
]
Warmup = Annotated[
    Optional[int],
    typer.Option("--warmup", min=0, metavar="N", help="How many runs come first and are not counted."),
]
Budget = Annotated[
    Optional[str],
    typer.Option("--budget", "-t", metavar="SECONDS", help="Measure for this long instead of a number of runs."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command("matrix")
def run_matrix(
    ctx: typer.Context,
    file: Annotated[
        Optional[Path],
        typer.Argument(
            metavar="[FILE]",
            help="A YAML file with the matrix; default: the configuration.",
            show_default=False,
        ),
    ] = None,
    version: Version = None,
    since: Since = None,
    every: Every = False,
    missing: Missing = False,
    register: Add = False,
    no_build: NoBuild = False,
    repeat: Repeat = None,
    warmup: Warmup = None,
    budget: Budget = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Only list the jobs.")] = False,
    as_json: AsJson = False,
) -> None:
    """Measure the job matrix: every command with its arguments and workloads, under every collector.

    The matrix is FILE, or the keys bins, args, workloads, collectors and postprocessors of the configuration.
    """
    console: Console = ctx.obj
    repository = console.repository
    chosen = _of_file(repository, file) if file is not None else _of_config(repository, run=not dry_run)
    if dry_run:
        for job in chosen.jobs():
            console.line("  ".join(part for part in (job.collector.name, job.label) if part))
        return
    _measure(
        console,
        chosen,
        versions=select_versions(repository, version or [], since, every),
        schedule=_schedule(repeat, warmup, budget),
        register=register,
        missing=missing,
        no_build=no_build,
        as_json=as_json,
    )


@app.command("job")
def run_job(
    ctx: typer.Context,
    cmd: Annotated[list[str], typer.Option("--cmd", "-b", metavar="TEXT", help="A command; several are interleaved.")],
    args: Annotated[
        Optional[list[str]], typer.Option("--args", metavar="TEXT", help="Arguments; each in turn.")
    ] = None,
    workload: Annotated[
        Optional[list[str]],
        typer.Option("--workload", "-w", metavar="TEXT", help="A workload; each in turn."),
    ] = None,
    collector: Annotated[
        Optional[list[str]],
        typer.Option(
            "--collector",
            "-c",
            metavar="NAME",
            help="A collector, with its configured options (default: time).",
        ),
    ] = None,
    postprocessor: Annotated[
        Optional[list[str]],
        typer.Option("--postprocessor", "-p", metavar="NAME", help="A postprocessor, with its configured options."),
    ] = None,
    version: Version = None,
    since: Since = None,
    every: Every = False,
    missing: Missing = False,
    register: Add = False,
    no_build: NoBuild = False,
    repeat: Repeat = None,
    warmup: Warmup = None,
    budget: Budget = None,
    as_json: AsJson = False,
) -> None:
    """Measure one job: a small matrix on the command line."""
    console: Console = ctx.obj
    repository = console.repository
    values = {
        "bins": list(cmd),
        "args": args or [],
        "workloads": workload or [],
        "collectors": collector or ["time"],
        "postprocessors": postprocessor or [],
    }
    _measure(
        console,
        _with_build(matrix.parse(values, where="the command line"), repository),
        versions=select_versions(repository, version or [], since, every),
        schedule=_schedule(repeat, warmup, budget),
        register=register,
        missing=missing,
        no_build=no_build,
        as_json=as_json,
    )


def _measure(
    console: Console,
    chosen: Matrix,
    *,
    versions: tuple[str, ...],
    schedule: Mapping[str, Any],
    register: bool,
    missing: bool,
    no_build: bool,
    as_json: bool,
) -> None:
    execute = chosen.execute
    pre_run = execute.get("pre_run", [])
    measure(
        console,
        Request(
            jobs=chosen.jobs(),
            versions=versions,
            schedule={**chosen.schedule, **schedule},
            pre_run=() if no_build else tuple([pre_run] if isinstance(pre_run, str) else map(str, pre_run)),
            shell=bool(execute.get("shell", False)),
            register=register,
            missing=missing,
            as_json=as_json,
        ),
    )


def _of_file(repository: Repository, file: Path) -> Matrix:
    """A matrix that the user named: naming it is the consent to run it."""
    path = file if file.is_absolute() else repository.cwd / file
    data = read_bytes(path)
    if data is None:
        raise NotFoundError(f"there is no file {file}")
    values = parse_yaml(data, str(file))
    if not isinstance(values, Mapping):
        raise UsageError(f"{file} should hold keys such as bins and collectors", hint=", ".join(KEYS))
    parsed = matrix.parse(values, where=str(file))
    return parsed if parsed.execute else _with_build(parsed, repository)


def _of_config(repository: Repository, *, run: bool) -> Matrix:
    parsed = matrix.from_config(repository.config)
    if run:
        for key in ("bins", "cmds", "collectors", "postprocessors", "args", "workloads"):
            repository.trust.require(repository.config.origin(key))
    return _with_build(parsed, repository) if run else parsed


def _with_build(parsed: Matrix, repository: Repository) -> Matrix:
    repository.trust.require(repository.config.origin("execute.pre_run"))
    execute = {
        "pre_run": repository.config.get("execute.pre_run"),
        "shell": repository.config.get("execute.shell"),
    }
    return attrs.evolve(parsed, execute=execute)


def _schedule(repeat: int | None, warmup: int | None, budget: str | None) -> dict[str, Any]:
    try:
        seconds = parse_seconds(budget) if budget is not None else None
    except ValueError as error:
        raise UsageError(str(error)) from error
    given = {"repeat": repeat, "warmup": warmup, "budget": seconds}
    return {key: value for key, value in given.items() if value is not None}
