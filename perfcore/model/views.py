"""Input of views: data of the kinds that a view accepts, each loaded when the view first asks for it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import attrs

from perfcore.model import EMPTY

if TYPE_CHECKING:
    from perfcore.model.changes import Change
    from perfcore.model.histories import MetricHistory
    from perfcore.model.profiles import Profile
    from perfcore.model.versions import MinorVersion

T = TypeVar("T")
Lazy: TypeAlias = "T | Callable[[], T]"

CONTENTS = ("profiles", "pair", "series", "changes")
"""What a view may name in its class attribute `accepts`."""
DEFAULT_ACCEPTS = ("profiles",)


@attrs.frozen(kw_only=True)
class PairSide:
    """What else is known of a side of `pair`: the id of its version, all profiles of its configuration at this version,
    and the names that files had in the version, where the profile has newer ones."""

    version: str | None = None
    replicates: tuple[Profile, ...] = attrs.field(default=(), repr=False)
    paths: Mapping[str, str] = EMPTY


# Without slots, because `functools.cached_property` needs the `__dict__` of the instance.
@attrs.frozen(kw_only=True, slots=False, eq=False)
class ViewData:
    """Input of one view. Each argument is the data, or a function that loads them at the first access.

    `names[i]` is the name under which the user asked for `profiles[i]`, `versions[i]` its version. `pair` is
    (baseline, target), and `sides` is what else is known of them. `series` are metrics over the versions of a branch,
    `changes` the verdicts of checks. `source(version, path)` gives the bytes of a file, or None. `accepted` has the
    reason for each change (by its id) that somebody accepted, `decided` whatever people decided about one in words,
    `releases` the tags of versions (by their full ids)."""

    _profiles: Lazy[tuple[Profile, ...]] = attrs.field(default=(), repr=False)
    names: tuple[str, ...] = ()
    _versions: Lazy[tuple[MinorVersion | None, ...]] = attrs.field(default=(), repr=False)
    _pair: Lazy[tuple[Profile, Profile]] | None = attrs.field(default=None, repr=False)
    _sides: Lazy[tuple[PairSide, PairSide]] = attrs.field(default=(PairSide(), PairSide()), repr=False)
    _series: Lazy[tuple[MetricHistory, ...]] = attrs.field(default=(), repr=False)
    _changes: Lazy[tuple[Change, ...]] = attrs.field(default=(), repr=False)
    source: Callable[[str, str], bytes | None] | None = attrs.field(default=None, repr=False)
    _accepted: Lazy[Mapping[str, str]] = attrs.field(default=EMPTY, repr=False)
    _decided: Lazy[Mapping[str, str]] = attrs.field(default=EMPTY, repr=False)
    _releases: Lazy[Mapping[str, tuple[str, ...]]] = attrs.field(default=EMPTY, repr=False)

    @functools.cached_property
    def profiles(self) -> tuple[Profile, ...]:
        return _loaded(self._profiles)

    @functools.cached_property
    def versions(self) -> tuple[MinorVersion | None, ...]:
        return _loaded(self._versions)

    @functools.cached_property
    def pair(self) -> tuple[Profile, Profile] | None:
        return None if self._pair is None else _loaded(self._pair)

    @functools.cached_property
    def sides(self) -> tuple[PairSide, PairSide]:
        return _loaded(self._sides)

    @functools.cached_property
    def series(self) -> tuple[MetricHistory, ...]:
        return _loaded(self._series)

    @functools.cached_property
    def changes(self) -> tuple[Change, ...]:
        return _loaded(self._changes)

    @functools.cached_property
    def accepted(self) -> Mapping[str, str]:
        return _loaded(self._accepted)

    @functools.cached_property
    def decided(self) -> Mapping[str, str]:
        return _loaded(self._decided)

    @functools.cached_property
    def releases(self) -> Mapping[str, tuple[str, ...]]:
        return _loaded(self._releases)

    @property
    def contents(self) -> frozenset[str]:
        """The kinds of data that there are, without loading any: a function counts, whatever it would give."""
        arguments = (self._profiles, self._pair, self._series, self._changes)
        return frozenset(name for name, argument in zip(CONTENTS, arguments, strict=True) if argument)


Subject = ViewData  # the name before the data became lazy, which views may still import


def _loaded(argument: Lazy[T]) -> T:
    return argument() if callable(argument) else argument
