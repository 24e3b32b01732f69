"""Two versions compared by all that is stored of both, with the checks that the configuration names for them.

Nothing is measured, and no observer is told.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import msgspec
from perfcore_check_kit import machine_names
from perfcore_check_kit import pairing as pairings
from perfcore_check_kit.benchmark_pairs import expanded
from perfcore_check_kit.pair_checks import run_checks
from perfcore_check_kit.run_values import is_judged

from perfcore import __version__
from perfcore.model import Change, MinorVersion, Pairing, Unpaired
from perfcore_site_kit.derive import CONFIGURED

if TYPE_CHECKING:
    from perfcore_check_kit.series import ConfigHistory

    from perfcore.repository.repository import Repository

_FORMAT = 3  # of the rows, and of what checks answer
_SPACE = "comparisons"
_Stored: TypeAlias = tuple[tuple[Change, ...], tuple[Unpaired, ...]]
_DECODER = msgspec.msgpack.Decoder(_Stored)


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """What differs between two versions: a verdict for every metric of each configuration that both were measured in.
    `unpaired` is what only one of them has, `gated` are the metrics that decide beside the primary ones."""

    baseline: MinorVersion
    target: MinorVersion
    changes: tuple[Change, ...]
    unpaired: tuple[Unpaired, ...]
    gated: frozenset[str] = frozenset()

    @property
    def deciding(self) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.primary or change.metric in self.gated)


def compare(
    repository: Repository, baseline: MinorVersion, target: MinorVersion, lines: Sequence[ConfigHistory] = ()
) -> Comparison:
    """The comparison of two versions, as `perf compare A B` makes it. The read model keeps it for as long as both have
    the same profiles: a check takes some 3 ms for each benchmark. `lines` are those of their branch, where it was
    walked already."""
    key = _key(repository, baseline, target)
    stored = _read(repository, key)
    if stored is None:
        stored = _compared(repository, baseline, target, lines)
        with contextlib.suppress(UnicodeEncodeError):  # a name that is no Unicode has no row
            repository.store.read_model.put(_SPACE, {key: msgspec.msgpack.encode(stored)})
    changes, unpaired = stored
    return Comparison(baseline=baseline, target=target, changes=changes, unpaired=unpaired)


def is_kept(repository: Repository, baseline: MinorVersion, target: MinorVersion) -> bool:
    """Whether the comparison of two versions is known without a check."""
    return _read(repository, _key(repository, baseline, target)) is not None


def _compared(
    repository: Repository, baseline: MinorVersion, target: MinorVersion, lines: Sequence[ConfigHistory]
) -> _Stored:
    renamed = repository.config.get("benchmarks.renamed")
    pairs = list(expanded(pairings.of_versions(repository, baseline.id, target.id), renamed))
    verdicts = run_checks(repository, [pair for pair in pairs if isinstance(pair, Pairing)], lines=lines)
    changes = [change for verdict in verdicts for change in judged(verdict.changes)]
    return (
        machine_names.in_changes(repository, changes, {version.id[:10]: version.id for version in (baseline, target)}),
        tuple(pair for pair in pairs if isinstance(pair, Unpaired)),
    )


def _read(repository: Repository, key: str) -> _Stored | None:
    data = repository.store.read_model.get(_SPACE, key)
    try:
        return None if data is None else _DECODER.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None


def _key(repository: Repository, baseline: MinorVersion, target: MinorVersion) -> str:
    """A digest of what a comparison follows from."""
    profiles = [[entry.profile for entry in repository.entries(version.id)] for version in (baseline, target)]
    configured = [repository.config.get(key) for key in CONFIGURED]
    facts = [_FORMAT, __version__, baseline.id, target.id, profiles, configured]
    return hashlib.sha1(json.dumps(facts, default=str).encode(), usedforsecurity=False).hexdigest()


def judged(changes: Sequence[Change]) -> list[Change]:
    """Without the times of which a better one was measured."""
    measured = {change.metric for change in changes}
    return [change for change in changes if is_judged(change.metric, measured, set())]
