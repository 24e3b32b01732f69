"""The driver: a folder of pages, or the hottest lines for a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from perfcore_view_kit.form import shown

from perfcore.errors import NotFoundError, UsageError
from perfcore.model.record import Record
from perfcore.settings import OptionInfo
from perfcore.text import clip, plural, printable

if TYPE_CHECKING:
    from perfcore_view_kit.source_pages import SourcePages

    from perfcore.hookspecs import Output
    from perfcore.model import ViewData
    from perfcore_view_annotate.profile_tree import ProfileTree
    from perfcore_view_annotate.sources import Sources


class AnnotateSettings(Record, frozen=True, kw_only=True):
    """Which costs, and whose lines."""

    metric: Annotated[str | None, OptionInfo("The metric of the costs. Default: the first metric.", metavar="NAME")] = (
        None
    )
    source: Annotated[
        Path | None,
        OptionInfo(
            "Show sources of this folder; costs are at the lines that correspond to those of the version.",
            metavar="DIR",
        ),
    ] = None
    title: Annotated[str | None, OptionInfo("Title of the pages. Default: the command.", metavar="TEXT")] = None
    lines: Annotated[int, OptionInfo("The lines that a terminal shows.", minimum=1, maximum=10_000)] = 20
    fresh: Annotated[bool, OptionInfo("Render every page, also those that did not change.")] = False


class AnnotateView:
    """Annotates sources with what each line took: a folder of pages (-o DIR), or the hottest lines in the terminal."""

    Settings = AnnotateSettings
    contract = "perfcore_view_annotate.contract:AnnotateContract"
    folder = True

    def __init__(self, settings: AnnotateSettings | None = None) -> None:
        self.settings = settings or AnnotateSettings()

    def render(self, subject: ViewData, output: Output) -> None:
        """Write the pages below `output.path`, or lines of text."""
        from perfcore_view_annotate.profile_tree import profile_tree
        from perfcore_view_annotate.sources import Sources

        if len(subject.profiles) != 1:
            raise UsageError(
                f"annotate shows one profile, and {len(subject.profiles)} are named",
                hint="`perf aggregate` adds several up",
            )
        directory = self.settings.source
        if directory is not None and not directory.is_dir():
            raise NotFoundError(f"--source {printable(str(directory))} is no folder")
        tree = profile_tree(subject.profiles[0], self.settings.metric)
        sources = Sources(subject.source, _version(subject), directory)
        if output.path is None:
            self._write_lines(tree, sources, output)
        else:
            self._write_site(subject, tree, sources, output.path, output)

    @property
    def source_pages_revision(self) -> str:
        """A text that differs where `source_pages` would make other pages of the same data."""
        from perfcore_view_annotate.shell import revision

        return f"{revision()} {(self.settings.metric, self.settings.title)!r}"

    def source_pages(self, subject: ViewData, *, most_bytes: int) -> SourcePages:
        """The pages of one profile, for a site that shows more than these: with the sources of the version."""
        from perfcore_view_annotate.pages import AnnotatedPages
        from perfcore_view_annotate.profile_tree import profile_tree
        from perfcore_view_annotate.sources import Sources

        return AnnotatedPages(
            profile_tree(subject.profiles[0], self.settings.metric),
            Sources(subject.source, _version(subject), None),
            title=self._title(subject),
            version=_version_name(subject),
            most_bytes=most_bytes,
        )

    def _write_lines(self, tree: ProfileTree, sources: Sources, output: Output) -> None:
        from perfcore_view_annotate.costs import costs_of
        from perfcore_view_annotate.generated_lines import ranges_of
        from perfcore_view_annotate.listing import listing

        ranges = ranges_of([file for _, file, _, _ in tree.all_frames], sources.generated)
        for line in listing(costs_of(tree, ranges), sources, self.settings.lines):
            output.write((line if output.width is None else clip(line, output.width)) + "\n")

    def _write_site(self, subject: ViewData, tree: ProfileTree, sources: Sources, folder: Path, output: Output) -> None:
        from perfcore_view_annotate.pages import AnnotatedPages
        from perfcore_view_annotate.site import write_site

        pages = AnnotatedPages(tree, sources, title=self._title(subject), version=_version_name(subject))
        result = write_site(folder, pages, fresh=self.settings.fresh)
        published = result.published
        missing = f"; the sources of {plural(result.missing, 'file')} are missing" if result.missing else ""
        output.say(
            f"{printable(str(folder))}: {plural(published.rendered, 'page')} written, {published.kept:,} unchanged, "
            f"{published.removed:,} removed{missing}"
        )

    def _title(self, subject: ViewData) -> str:
        label = subject.profiles[0].label or (subject.names[0] if subject.names else "")
        return shown(self.settings.title or label or "Annotated sources")


def _version(subject: ViewData) -> str:
    """The full id of the version that the sources are of; empty where it is not known."""
    version = subject.versions[0] if subject.versions else None
    return version.id if version is not None else subject.profiles[0].origin or ""


def _version_name(subject: ViewData) -> str:
    """A release tag and the beginning of the id."""
    version = _version(subject)
    tags = subject.releases.get(version, ()) if version else ()
    return shown(" ".join((*tags[:1], version[:10]))).strip()
