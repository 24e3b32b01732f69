"""A request to measure: jobs, versions, schedule, build and directories, resolved from the words of a user."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from perfcore.errors import PerfError, UsageError, VersionError
from perfcore.model import Build, Job, Step
from perfcore.model.record import Record
from perfcore.repository.repository import Repository
from perfcore.text import printable


class MeasureRequest(Record, frozen=True, kw_only=True):
    """Jobs whose `cwd` is relative to the tree, for versions (None: the user's working tree).

    `register` registers each profile with its version; `missing` leaves out jobs whose profile a version already has.
    `resume` does the same with pending profiles, and adds the missing runs to incomplete ones. `executor` is the name
    of the executor; None: that of the configuration.
    """

    jobs: tuple[Job, ...]
    versions: tuple[str, ...] | None = None
    schedule: Mapping[str, Any] = {}
    building: Build = msgspec.field(default_factory=Build)
    register: bool = False
    missing: bool = False
    resume: bool = False
    executor: str | None = None


def select_versions(
    repository: Repository,
    revisions: str | Sequence[str] | None = None,
    since: str | None = None,
    every: bool = False,
    until: str | None = None,
    tags: str | None = None,
    *,
    last: int | None = None,
    step: int = 1,
) -> tuple[str, ...] | None:
    """Full ids of the requested versions without duplicates, a history oldest first; None for the working tree.

    A revision `A..B` is the history of B without that of A, as in git. `since` and `until` are revisions or dates,
    `tags` is a pattern. Of what is selected, or of the branch, only the `last` are taken, and of these, counted from
    the newest, every `step`th.
    """
    by_filter = since is not None or until is not None or tags is not None
    if bool(revisions) + by_filter + every > 1:
        raise UsageError("versions are named, chosen by options such as --since, or all of them: only one of these")
    if by_filter:
        from perfcore.repository.version_filter import VersionFilter, tagged

        walk = repository.vcs.walk_minor_versions
        history = walk(repository.version()) if tags is None else tagged(repository, tags)
        selected = dict.fromkeys(v.id for v in VersionFilter(since=since, until=until).of(repository, history)[::-1])
    elif not (revisions or every or last is not None or step > 1):
        return None
    else:
        ranges = [revisions] if isinstance(revisions, str) else revisions or [".."]
        selected = dict.fromkeys(version for revision in ranges for version in _versions_of(repository, revision))
    newest = list(reversed(selected))[:last:step]
    return tuple(reversed(newest))


def _versions_of(repository: Repository, revision: str) -> Iterator[str]:
    """Those of a range, oldest first, or the one version. The history of the head has no beginning: `..HEAD`."""
    start, dots, end = revision.rpartition("..")
    if not dots:
        yield repository.version(revision)
        return
    from perfcore.repository.version_filter import VersionFilter

    history = repository.vcs.walk_minor_versions(repository.version(end or None))
    yield from [version.id for version in VersionFilter(start=start).of(repository, history)][::-1]


def configured_build(
    repository: Repository, execute: Mapping[str, Any] | None = None, *, skip: bool = False, rebuild: bool = False
) -> Build:
    """The environment and the build commands of the configuration, `execute` of a matrix file above it. UntrustedError
    before any of them runs from a file that the user has not trusted."""
    config = repository.config.with_layer("command line", {"execute": execute}) if execute else repository.config
    commands = () if skip else tuple(config.get("execute.pre_run"))
    # The limit of kept builds is of all repositories: a clone must not set it.
    for key in ("execute.pre_run", "execute.shell", "execute.build_cache") if commands else ():
        repository.trust.require(config.origin(key))
    recipe = {} if skip else dict(config.get("execute.environment"))
    if recipe:
        repository.trust.require(config.origin("execute.environment"))
        if not isinstance(name := recipe.pop("name", None), str):
            raise UsageError("execute.environment has no name", hint="such as {name: venv}")
        recipe = {"name": name, "params": {**repository.plugin_options("environment", name), **recipe}}
    return Build(
        environment=Step(**recipe) if recipe else None,
        commands=commands,
        shell=bool(config.get("execute.shell")),
        timeout=float(config.get("execute.timeout")),
        cache=int(config.get("execute.build_cache") * 1e9),
        rebuild=rebuild,
        skipped=skip and bool(config.get("execute.pre_run")),
    )


def working_directory(repository: Repository, path: Path | None = None) -> Path:
    """The user's directory, or `path` below the root, relative to the root: commands run there in every version."""
    root, directory = repository.root, repository.cwd if path is None else repository.root / path
    return directory.relative_to(root) if directory.is_relative_to(root) else directory


def tree_state(repository: Repository, *, needed: bool = False) -> tuple[str | None, bool]:
    """(version, dirty) of the user's working tree. VersionError if the version is `needed` and nobody knows it."""
    try:
        return repository.version(), repository.vcs.is_dirty()
    except VersionError as error:
        if needed:
            raise
        if not _is_unborn(repository):  # a normal start needs no warning
            repository.plugins.warn(f"measured for no version: {error}")
        return None, True


def version_name(version: str) -> str:
    """What a failure of a version as a whole is told of."""
    return f"version {version[:10]}"


def tree_directory(tree: Path, cwd: Path, version: str | None) -> Path:
    """The directory `cwd` of a tree. UsageError if it is outside of the tree or missing."""
    directory, shown = (tree / cwd).resolve(), printable(str(cwd))  # a link may lead out of the tree
    if not directory.is_relative_to(tree.resolve()):
        raise UsageError(f"{shown} is outside the tree that is measured")
    if not directory.is_dir():
        name = f"version {version[:10]}" if version else tree
        raise UsageError(f"there is no folder {shown} in {name}", hint="--cwd . runs in the root of the tree")
    return tree / cwd


def _is_unborn(repository: Repository) -> bool:
    """Whether the branch has no version yet."""
    with contextlib.suppress(PerfError):
        return repository.vcs.get_head_major_version().head is None
    return False
