"""The verbs of `perf fleet` that bring samples: of files, and of a command that they run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from perfcore.cli.console import Console
from perfcore.cli.options import AsJson, seconds
from perfcore.errors import CommandFailedError, FormatError, UsageError
from perfcore.text import plural, printable
from perfcore_command_fleet import library
from perfcore_command_fleet.files import candidates
from perfcore_command_fleet.ingest import Ingested
from perfcore_command_fleet.sampling import sampled_environment
from perfcore_command_fleet.spool import Spool, watch
from perfcore_command_fleet.verb import Verb

_SHOWN = 10  # problems


def ingest(
    ctx: typer.Context,
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files, or folders of files.")],
    release: Annotated[
        str | None, typer.Option("--release", metavar="REV", help="Their version; default: their label `release`.")
    ] = None,
    host: Annotated[
        str | None, typer.Option("--host", metavar="NAME", help="Their host; default: the folder below PATH.")
    ] = None,
    label: Annotated[
        list[str] | None, typer.Option("--label", metavar="L=V", help="A label of all samples. Repeatable.")
    ] = None,
    source: Annotated[str | None, typer.Option("--source", metavar="NAME", help="The source that reads them.")] = None,
    shard: Annotated[
        str | None, typer.Option("--shard", metavar="NAME", help="The name of this ingester; default: the host's.")
    ] = None,
    watching: Annotated[
        bool, typer.Option("--watch", help="Go on, and remove files that are stored. PATH is a spool.")
    ] = False,
    keep: Annotated[bool, typer.Option("--keep", help="With --watch, remove nothing.")] = False,
    interval: Annotated[
        str, typer.Option("--interval", metavar="TIME", help="With --watch, the time between two looks.")
    ] = "5s",
    limit: Annotated[
        int, typer.Option("--limit", metavar="MB", help="With --watch, the size of PATH/dead-letter.", min=0)
    ] = 1024,
    turns: Annotated[int | None, typer.Option("--turns", min=1, hidden=True)] = None,
    as_json: AsJson = False,
) -> None:
    """Store the samples of files. Files that are stored already count once, whoever brings them.

    A file that is not whole is counted as far as it goes, and replaced when it comes again, longer.
    """
    console: Console = ctx.obj
    ingester = library.ingester(
        console.repository,
        source=source,
        release=release,
        labels=dict(map(_label, label or ())),
        host=host,
        shard=shard,
        listener=console,
    )
    if watching:
        spools = [Spool(path, ingester, console, limit << 20, keep) for path in paths]
        watch(spools, seconds("--interval", interval) or 0.0, lambda result: _tell_turn(console, result), turns)
        return
    result = ingester.ingest(list(candidates(paths)))
    console.clear_progress()
    if as_json:
        console.json(result.as_json())
    else:
        _tell(console, result)
    if any(path not in set(result.open) for path, _ in result.problems):
        raise FormatError(f"{plural(len(result.problems), 'file')} left out or not whole")


def run(
    ctx: typer.Context,
    command: Annotated[list[str], typer.Argument(metavar="-- CMD...", help="The command.", show_default=False)],
    spool: Annotated[
        Path, typer.Option("--spool", metavar="DIR", help="The folder for samples, which `ingest` reads.")
    ] = Path("spool"),
    release: Annotated[
        str | None, typer.Option("--release", metavar="REV", help="The version of the command; default: the head.")
    ] = None,
    label: Annotated[
        list[str] | None, typer.Option("--label", metavar="L=V", help="A label of all samples. Repeatable.")
    ] = None,
    rate: Annotated[float, typer.Option("--rate", metavar="HZ", help="Samples a second.", min=0.1, max=1000)] = 97.0,
    interval: Annotated[str, typer.Option("--interval", metavar="TIME", help="The time of a file.")] = "1m",
) -> None:
    """Run a command and sample every Python process below it.

    It takes the place of this process, and needs perfcore-fleet-sampler here; the service needs nothing.
    """
    console: Console = ctx.obj
    environment = sampled_environment(
        spool,
        rate=rate,
        interval=seconds("--interval", interval) or 60.0,
        labels={"release": console.repository.version(release), **dict(map(_label, label or ()))},
    )
    try:
        os.execvpe(command[0], command, environment)
    except OSError as error:
        raise CommandFailedError(f"cannot run {printable(command[0])}: {error.strerror}") from error


def _label(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UsageError(f"--label wants LABEL=VALUE, got {text!r}")
    return key, value


def _tell(console: Console, result: Ingested) -> None:
    for path, text in result.problems[:_SHOWN]:
        console.say(f"{printable(str(path))}: {printable(text)}")
    if len(result.problems) > _SHOWN:
        console.say(f"… and {len(result.problems) - _SHOWN:,} more")
    console.say(_summary(result))


def _summary(result: Ingested) -> str:
    """`stored 3 segments with 1,200 samples (1 not whole); 2 known`"""
    counts = result.outcomes
    stored = counts["new"] + counts["replaced"]
    text = f"stored {plural(stored, 'segment')} with {result.samples:,} samples"
    text += f" ({result.partial} not whole)" if result.partial else ""
    words = {"known": "known", "expired": "of expired boxes", "conflict": "in conflict with what is stored"}
    return "; ".join([text, *(f"{counts[name]:,} {word}" for name, word in words.items() if counts[name])])


def _tell_turn(console: Console, result: Ingested) -> None:
    """Say nothing of a turn in which nothing happened."""
    if result.outcomes["new"] or result.outcomes["replaced"] or result.problems:
        console.clear_progress()
        _tell(console, result)


VERBS = {"run": Verb(run, {"allow_interspersed_args": False}), "ingest": Verb(ingest)}
