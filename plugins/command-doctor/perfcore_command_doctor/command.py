"""`perf doctor`: look at the machine for a second, and say what makes it unfit for measuring."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from perfcore.cli.options import AsJson
from perfcore.text import clip, plural, printable
from perfcore_command_doctor.findings import Finding, findings
from perfcore_command_doctor.observation import observe

if TYPE_CHECKING:
    from perfcore.cli.console import Console

SCHEMA = 1
_WIDTH = 80
_NAME = 16  # columns of the longest name and a blank
_MARKS = {"bad": "!", "good": " ", "unknown": "?"}


def new_app() -> typer.Typer:
    """A new Typer app with the one command."""
    app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
    app.command()(doctor)
    return app


def doctor(
    ctx: typer.Context,
    seconds: Annotated[
        float, typer.Option("--seconds", min=0.1, max=3600, metavar="S", help="How long to look at other programs.")
    ] = 2.0,
    as_json: AsJson = False,
) -> None:
    """Say what makes this machine unfit for measuring, and what to do about it. Nothing is changed.

    It looks at settings (governor, turbo, SMT, quotas, clock, counters), at what else runs, and at how much the time of
    a fixed loop varies. What is bad stands first; `?` is what this machine does not tell.
    """
    console: Console = ctx.obj
    console.progress(0, 0, "looking at the machine")
    found = findings(observe(seconds))
    bad = [finding for finding in found if finding.state == "bad"]
    if as_json:
        rows = [finding._asdict() for finding in found]
        console.json({"schema": SCHEMA, "fit": not bad, "findings": rows})
        return
    verdict = f"unfit for small changes: {plural(len(bad), 'reason')}" if bad else "fit for measuring"
    console.line(console.paint(verdict, "bold"))
    console.line()
    for finding in found:
        for line in _lines(finding):
            console.line(console.paint(line, "red") if finding.state == "bad" and line[:1] == "!" else line)


def _lines(finding: Finding) -> Iterator[str]:
    yield clip(printable(f"{_MARKS[finding.state]} {finding.name:<{_NAME}}{finding.what}"), _WIDTH)
    for text in filter(None, (finding.effect, finding.remedy and f"-> {finding.remedy}")):
        yield from _wrapped(printable(text).split(), " " * (_NAME + 2))


def _wrapped(words: Sequence[str], indent: str) -> Iterator[str]:
    """Lines of whole words; a command that is longer than a line stays in one, to be copied."""
    if words[0] == "->":
        yield indent + " ".join(words) if len(" ".join(words)) + len(indent) <= _WIDTH else "  " + " ".join(words)
        return
    line = ""
    for word in words:
        if line and len(indent) + len(line) + 1 + len(word) > _WIDTH:
            yield indent + line
            line = word
        else:
            line = f"{line} {word}".strip()
    yield indent + line
