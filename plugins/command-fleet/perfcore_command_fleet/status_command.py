"""`perf fleet status`: hosts and boxes with their samples."""

from __future__ import annotations

import time

import typer

from perfcore.cli.console import Console
from perfcore.cli.options import AsJson
from perfcore.text import align, clip, plural, printable, quantity
from perfcore_command_fleet import library, times
from perfcore_command_fleet.query_options import Box, Revision
from perfcore_command_fleet.status import FleetStatus
from perfcore_command_fleet.verb import Verb

_SHOWN = 10  # gaps


def status(ctx: typer.Context, revision: Revision = None, box: Box = "1d", as_json: AsJson = False) -> None:
    """List hosts and boxes with their samples, and what is missing."""
    console: Console = ctx.obj
    result = library.status(console.repository, revision, times.length("--box", box))
    if as_json:
        console.json(result.as_json())
        return
    for line in _status_lines(result):
        console.line(line)
    console.say(_status_summary(result))


def _status_lines(result: FleetStatus) -> list[str]:
    rows = [("box", "host", "segments", "streams", "samples", "time", "")]
    for box in result.boxes:
        remarks = [f"{box.partial} not whole"] if box.partial else []
        remarks += [f"{box.expired} expired"] if box.expired else []
        rows.append(
            (
                times.shown(box.begin),
                clip(printable(box.host), 24),
                f"{box.segments:,}",
                f"{box.streams:,}",
                f"{box.samples:,}",
                quantity(box.time / times.NS, "s"),
                ", ".join(remarks),
            )
        )
    lines = [line.rstrip() for line in align(rows, right=(2, 3, 4, 5))]
    for gap in result.gaps[:_SHOWN]:
        missing = f"{gap.first}" if gap.first == gap.last else f"{gap.first} to {gap.last}"
        lines.append(f"missing: {clip(printable(gap.stream), 30)} of {clip(printable(gap.host), 20)}, {missing}")
    return lines


def _status_summary(result: FleetStatus) -> str:
    hosts = len({box.host for box in result.boxes})
    lag = (time.time_ns() - result.newest) / times.NS if result.newest else None
    text = f"{result.samples:,} samples of {plural(hosts, 'host')}"
    text += f", the newest {quantity(lag, 's')} ago" if lag is not None and lag >= 0 else ""
    text += f", {plural(len(result.gaps), 'gap')}" if result.gaps else ""
    return text + (f", {plural(len(result.problems), 'damaged record')}" if result.problems else "")


VERBS = {"status": Verb(status)}
