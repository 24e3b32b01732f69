"""The driver: all comparisons, in the form that is wanted."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import attrs

from perfcore.errors import NotFoundError
from perfcore.settings import option
from perfcore_view_compare.ranking import rows, shown, summary

if TYPE_CHECKING:
    from perfcore.hookspecs import Output
    from perfcore.model import ViewData

_BY_SUFFIX = {".html": "html", ".htm": "html", ".svg": "svg"}


@attrs.frozen
class CompareSettings:
    """In which form, and of what."""

    format: str = option(
        "auto",
        help="auto: html and svg for a file with such a name, else text.",
        choices=("auto", "text", "html", "svg"),
    )
    title: str | None = option(None, help="Title of the page or picture. Default: the two versions.", metavar="TEXT")
    all_metrics: bool = option(False, help="Show every metric, not only the one that decides.")
    width: int = option(860, help="SVG: the width in pixels.", minimum=500, maximum=20_000)
    ascii: bool = option(False, help="Draw the text with ASCII characters only.")


class CompareView:
    """Ranks the comparisons of two versions by the size of their change, each with its interval."""

    Settings = CompareSettings
    accepts = ("changes",)
    contract = "perfcore_view_compare.contract:CompareContract"

    def __init__(self, settings: CompareSettings | None = None) -> None:
        self.settings = settings or CompareSettings()

    def render(self, subject: ViewData, output: Output) -> None:
        """Write the comparisons."""
        from perfcore_view_compare import page, terminal

        settings = self.settings
        changes = subject.changes
        wanted = changes if settings.all_metrics else [change for change in changes if change.primary]
        if not (ranked := rows(wanted or changes, dict(subject.accepted))):
            raise NotFoundError(
                "there is nothing that was compared",
                hint="perf compare A B --view compare compares what is stored of two versions",
            )
        title, text = self._title(subject), summary(ranked)
        match self._format(output):
            case "html":
                output.write(page.write(ranked, title=title, summary=text, about=_about(subject)))
            case "svg":
                output.write(page.picture(ranked, title=title, summary=text, width=settings.width))
            case _:
                is_plain = settings.ascii or not (output.path is not None or _is_unicode())
                drawn = terminal.lines(ranked, columns=output.width, ascii=is_plain)
                closing = shown(text, output.width) if output.width else text
                output.write("".join(f"{line}\n" for line in (*drawn, "", closing)))

    def _title(self, subject: ViewData) -> str:
        if self.settings.title:
            return shown(self.settings.title)
        names = [shown(name) for name in subject.names]
        if len(names) != 2:
            sides = {(change.baseline, change.target) for change in subject.changes}
            names = [shown(side) for side in next(iter(sides))] if len(sides) == 1 else []
        return " → ".join(names) if all(names) and names else "Comparison"

    def _format(self, output: Output) -> str:
        if self.settings.format != "auto":
            return self.settings.format
        return _BY_SUFFIX.get(output.path.suffix.lower(), "text") if output.path is not None else "text"


def _about(subject: ViewData) -> str:
    """The versions by date and subject, as far as they are given."""
    sides = [version for version in subject.versions if version is not None]
    texts = [f"{shown(version.short)} {shown(version.subject, 72)}".strip() for version in sides]
    rule = "An interval that includes no change does not say that nothing changed."
    return "; ".join([" → ".join(texts), rule]) if len(texts) == 2 else rule


def _is_unicode() -> bool:
    """Whether standard output can hold the characters of the drawing."""
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
