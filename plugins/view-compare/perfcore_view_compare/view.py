"""The driver: all comparisons, in the form that is wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from perfcore_view_kit.form import FORM_HELP, FORMS, form_of, has_blocks, shown

from perfcore.errors import NotFoundError
from perfcore.model import MinorVersion
from perfcore.model.record import Record
from perfcore.settings import OptionInfo
from perfcore_view_compare.ranking import deciding, rows, summary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfcore.hookspecs import Output
    from perfcore.model import Change, ViewData


class CompareSettings(Record, frozen=True, kw_only=True):
    """In which form, and of what."""

    format: Annotated[str, OptionInfo(FORM_HELP, choices=FORMS)] = "auto"
    title: Annotated[
        str | None, OptionInfo("Title of the page or picture. Default: the two versions.", metavar="TEXT")
    ] = None
    all_metrics: Annotated[bool, OptionInfo("Show every metric, not only those that decide.")] = False
    width: Annotated[int, OptionInfo("SVG: the width in pixels.", minimum=500, maximum=20_000)] = 860
    ascii: Annotated[bool, OptionInfo("Draw the text with ASCII characters only.")] = False


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
        changes = _of_both(subject)
        listed = changes if settings.all_metrics else deciding(changes, subject.gated)
        if not (ranked := rows(listed or changes, subject.accepted, subject.decided)):
            raise NotFoundError(
                "there is nothing that was compared",
                hint="perf compare A B --view compare compares what is stored of two versions",
            )
        title, text = self._title(subject), summary(ranked)
        match form_of(settings.format, output):
            case "html":
                output.write(page.write(ranked, title=title, summary=text, about=_about(subject)))
            case "svg":
                output.write(page.picture(ranked, title=title, summary=text, width=settings.width))
            case _:
                is_plain = settings.ascii or not has_blocks(output)
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


def _of_both(subject: ViewData) -> Sequence[Change]:
    """The comparisons of the two versions that are shown. A check compared each of them with its own predecessor, too:
    under the names of both, that would be told of the wrong ones."""
    match subject.versions:
        case (MinorVersion() as before, MinorVersion() as after) if before.id != after.id:
            return [
                change
                for change in subject.changes
                if before.id.startswith(change.baseline) and after.id.startswith(change.target)
            ]
    return subject.changes


def _about(subject: ViewData) -> str:
    """The versions by date and subject, as far as they are given."""
    sides = [version for version in subject.versions if version is not None]
    texts = [f"{shown(version.short)} {shown(version.subject, 72)}".strip() for version in sides]
    rule = "An interval that includes no change does not say that nothing changed."
    return ". ".join([" → ".join(texts), rule]) if len(texts) == 2 else rule
