"""What in the code: two profiles of one configuration, compared by function."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec
from perfcore_command_diff import engine, matching
from perfcore_command_kit.sources import VersionSources
from perfcore_view_flamegraph import FlamegraphSettings, FlamegraphView

from perfcore.errors import NotFoundError, PerfError
from perfcore.model import Entry, MinorVersion, PairSide, ViewData
from perfcore_site_kit import paths
from perfcore_site_kit.stacked import newest_entries, with_stacks

if TYPE_CHECKING:
    from pathlib import Path

    from perfcore_command_diff.engine import DiffResult

    from perfcore.repository.repository import Repository

MOST_BYTES = 290_000  # of an interactive page: beyond, small boxes are left out
_BOXES = 1000  # of a picture: 200 kB
_STYLE = re.compile(r"<style>[^<]*</style>\n?")
_SHARES = (None, 0.05, 0.2, 1.0, 5.0)  # per cent of the whole


class CodeDifference(msgspec.Struct, frozen=True, kw_only=True):
    """The difference of the newest profiles of two versions in one configuration."""

    baseline: MinorVersion
    target: MinorVersion
    label: str
    config_id: str
    result: DiffResult


def difference(
    repository: Repository, baseline: MinorVersion, target: MinorVersion, config_part: str
) -> CodeDifference:
    """The difference in one configuration, by the part of an address. NotFoundError where one of the versions has no
    profile of it with call stacks."""
    entries = [_newest(repository, version, config_part) for version in (baseline, target)]
    profiles = [repository.store.load(entry.profile) for entry in entries]
    result = engine.diff(repository, *profiles)
    return CodeDifference(
        baseline=baseline, target=target, label=entries[1].label, config_id=entries[1].config_id, result=result
    )


def flame_graph(repository: Repository, found: CodeDifference) -> str:
    """The interactive page of a difference: as detailed as a page may be large."""
    data = _view_data(repository, found)
    for share in _SHARES:
        output = _Text()
        FlamegraphView(FlamegraphSettings(format="html", min_share=share)).render(data, output)
        if len(output.text) <= MOST_BYTES:
            break
    return output.text


def flame_picture(repository: Repository, found: CodeDifference) -> str:
    """The difference as a picture for a page: without what XML has before it, and without its style, which the policy
    of a page refuses; `site.css` has the same."""
    view = FlamegraphView(FlamegraphSettings(format="svg", width=1200, min_share=0.3))
    text = view.picture(_view_data(repository, found), _BOXES)
    return _STYLE.sub("", text[text.index("<svg") :])


def _view_data(repository: Repository, found: CodeDifference) -> ViewData:
    result = found.result
    names = f"{found.baseline.id[:10]} -> {found.target.id[:10]}"

    def sides() -> tuple[PairSide, PairSide]:
        if result.matched is None:
            return PairSide(), PairSide()
        return matching.sides(repository, result.matched, (found.baseline.id, found.target.id))

    return ViewData(
        profiles=(result.profile,),
        names=(names,),
        versions=(None,),
        pair=result.matched.profiles if result.matched is not None else None,
        sides=sides,
        source=VersionSources(repository).read,
    )


def _newest(repository: Repository, version: MinorVersion, config_part: str) -> Entry:
    entries = newest_entries(repository, version.id).items()
    entry = next((entry for config, entry in entries if paths.part(config) == config_part), None)
    if entry is None or not with_stacks(repository, [entry]):
        raise NotFoundError(f"{version.id[:10]} has no profile with call stacks in this configuration")
    return entry


class _Text:
    """An output that keeps what is written."""

    path: Path | None = None
    width: int | None = None
    color = False

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> None:
        self.text += text

    def write_bytes(self, data: bytes) -> None:
        raise PerfError("a page holds no bytes")

    def say(self, text: str) -> None:
        pass
