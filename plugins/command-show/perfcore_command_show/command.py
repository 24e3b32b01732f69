"""`perf show`: profiles in a view, with their history and the changes that checks stored."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from perfcore_command_kit.options import Browse, Force, Output
from perfcore_command_kit.plugin_options import HANDS_ON, run_plugin_command, split_plugin
from perfcore_command_kit.sources import VersionSources

from perfcore.analysis.stored_results import Results
from perfcore.cli.console import Console
from perfcore.errors import NotFoundError, UsageError, VersionError, nearest
from perfcore.model import Change, MetricHistory, MinorVersion, Profile, ViewData
from perfcore.repository.repository import Repository
from perfcore.store.lookup import Ref, refs_of
from perfcore_command_show import context, views

DEFAULT = "table"
OneLine = Annotated[bool, typer.Option("--one-line", help="A line for each profile: name, tools, median, command.")]
_PAGES = (".html", ".htm", ".svg")  # files that no table is written to


def new_app() -> typer.Typer:
    """A new Typer app with the one command, which hands the options of a view on to it."""
    app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
    app.command(context_settings=HANDS_ON)(show)
    return app


def show(
    ctx: typer.Context,
    output: Output = None,
    force: Force = False,
    browse: Browse = False,
    one_line: OneLine = False,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="PROFILE... [VIEW] [OPTIONS]", help="Profiles, a view, its options."),
    ] = None,
) -> None:
    """Show profiles in a view. `perf show table --help` lists the options of a view.

    Without a view it is a table; for a page (--open, or a file that ends in .html or .svg) the flame graph of a profile
    with stacks, else the histogram of the runs.

    Profiles are named 0@p (pending), 0@i (of this version), REV:0@i, by tag, name, id or path. A version, such as
    HEAD, stands for all its profiles, which get a line each where no view is named.
    """
    console: Console = ctx.obj
    named, options = split_plugin(words or [], console.plugins, "view", "")
    view = named or DEFAULT

    def render(
        profiles: Annotated[list[str] | None, typer.Argument(metavar="PROFILE...", show_default=False)] = None,
        file: Output = output,
        replace: Force = force,
        in_browser: Browse = browse,
        brief: OneLine = one_line,
        *,
        values: dict[str, Any],
    ) -> None:
        if not profiles:
            raise UsageError("say which profile", hint="`perf status` lists them: 0@p is the first pending one")
        of_names = {name: _find(console, name) for name in profiles}
        refs = [ref for name in profiles for ref in of_names[name][0]]
        wants_page = in_browser if file is None else file.suffix.lower() in _PAGES
        has_version = any(is_version for _, is_version in of_names.values())
        if brief or (has_version and not (named or values or wants_page)):
            from perfcore_command_show.one_line import lines

            console.output_to(file, force=replace)
            shown = lines([ref.name for ref in refs], [console.repository.load(ref) for ref in refs])
            console.write("".join(f"{line}\n" for line in shown))
            return
        data = _data(console, refs)
        chosen = view if named or values or not wants_page else _page_view(console, data)
        drawing = views.make(console, chosen, data, values)
        drawing.draw_to(console, data, file, force=replace, browse=in_browser, name=refs[0].title)

    run_plugin_command(console.plugins, "view", view, options, render, f"perf show {view}")


def _page_view(console: Console, data: ViewData) -> str:
    """The view that makes a page of these profiles: a flame graph of one with stacks, else their runs."""
    has_stacks = len(data.profiles) == 1 and "stacks" in data.profiles[0].tables
    view = "flamegraph" if has_stacks else "histogram"
    return view if view in console.plugins.names("view") else DEFAULT


def _data(console: Console, refs: Sequence[Ref]) -> ViewData:
    """Everything that a view may accept of these profiles. Nothing is read before the view asks for it."""
    repository = console.repository
    load = functools.cache(lambda: tuple(repository.load(ref) for ref in refs))  # once, whatever a view asks for
    decided = functools.cache(
        lambda: context.decided(repository, (*data.changes, *(c for s in data.series for c in s.changes)))
    )
    data = ViewData(
        profiles=load,
        names=tuple(ref.name for ref in refs),
        versions=lambda: tuple(_version(repository, ref) for ref in refs),
        pair=(lambda: (load()[0], load()[1])) if len(refs) == 2 else None,
        series=lambda: _series(console, refs, load()),
        changes=lambda: _changes(repository, refs, load()),
        source=VersionSources(repository).read,
        accepted=lambda: decided().accepted,
        decided=lambda: decided().words,
        releases=lambda: context.releases(repository),
        gated=lambda: context.gated(repository, data.changes),
    )
    return data


def _version(repository: Repository, ref: Ref) -> MinorVersion | None:
    return repository.vcs.get_minor_version_info(ref.version) if ref.version else None


def _series(console: Console, refs: Sequence[Ref], profiles: Sequence[Profile]) -> tuple[MetricHistory, ...]:
    """The deciding metrics of the profiles' configurations, along the branch of the version that is named first, or of
    one named after it that it led to: who names an old and a new version wants to see both."""
    from perfcore_command_show import metric_history  # most views draw no series

    configurations = frozenset(profile.config_id for profile in profiles)
    named = list(dict.fromkeys(ref.version for ref in refs if ref.version))
    head = named[0] if named else None
    for version in named[1:]:
        if any(earlier.id == head for earlier in console.repository.vcs.walk_minor_versions(version)):
            head = version
    return metric_history.of_configurations(console.repository, configurations, head, console)


def _changes(repository: Repository, refs: Sequence[Ref], profiles: Sequence[Profile]) -> tuple[Change, ...]:
    """The verdicts that checks stored for the versions and configurations of the profiles."""
    stored = Results(repository.store, repository.vcs_name)
    keys = {(ref.version, profile.config_id) for ref, profile in zip(refs, profiles, strict=True) if ref.version}
    return tuple(
        change
        for version in sorted({version for version, _ in keys})
        for result in stored.of(version)
        if (version, result.config_id) in keys
        for change in result.changes
    )


def _find(console: Console, name: str) -> tuple[list[Ref], bool]:
    """The profiles of a name, and whether it is that of their version."""
    try:
        return console.find(name), False
    except NotFoundError as error:
        repository = console.repository
        with contextlib.suppress(VersionError):
            version = repository.version(name)
            if refs := refs_of(version, repository.entries(version)):
                return refs, True
            raise
        view = nearest(name, console.plugins.names("view"))
        hint = f"if it is a view: {view}" if view else error.hint
        if view is None and name.isidentifier():
            hint = f"if it is a view, it is not installed: it may be in perfcore-view-{name}; else {error.hint}"
        raise NotFoundError(error.message, hint=hint) from error
