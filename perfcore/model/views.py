"""Input of views: data of the kinds that a view accepts, each loaded when the view first asks for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from perfcore.model import EMPTY, AttrsFields
from perfcore.model.record import Record

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


class PairSide(Record, frozen=True, kw_only=True):
    """What else is known of a side of `pair`: the id of its version, all profiles of its configuration at this version,
    and the names that files had in the version, where the profile has newer ones."""

    version: str | None = None
    replicates: tuple[Profile, ...] = ()
    paths: Mapping[str, str] = EMPTY


_SIDES = PairSide(), PairSide()  # where nothing is known


class _Loaded(Generic[T]):
    """A property that is the argument of its name, or what that loads at the first access."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __set__(self, data: ViewData, argument: Lazy[T]) -> None:
        data.__dict__[self.name] = argument

    def __get__(self, data: ViewData, owner: type) -> T:
        argument = data._argument(self.name)
        if callable(argument):
            argument = data.__dict__[self.name] = argument()
        loaded: T = argument
        return loaded


class ViewData:
    """Input of one view. Each argument is the data, or a function that loads them at the first access.

    `names[i]` is the name under which the user asked for `profiles[i]`, `versions[i]` its version. `pair` is
    (baseline, target), and `sides` is what else is known of them. `series` are metrics over the versions of a branch,
    `changes` the verdicts of checks. `source(version, path)` gives the bytes of a file, or None. `accepted` has the
    reason for each change (by its id) that somebody accepted, `decided` whatever people decided about one in words,
    `releases` the tags of versions (by their full ids). `gated` are metrics that decide beside primary ones."""

    profiles = _Loaded["tuple[Profile, ...]"]()
    versions = _Loaded["tuple[MinorVersion | None, ...]"]()
    pair = _Loaded["tuple[Profile, Profile] | None"]()
    sides = _Loaded["tuple[PairSide, PairSide]"]()
    series = _Loaded["tuple[MetricHistory, ...]"]()
    changes = _Loaded["tuple[Change, ...]"]()
    accepted = _Loaded["Mapping[str, str]"]()
    decided = _Loaded["Mapping[str, str]"]()
    releases = _Loaded["Mapping[str, tuple[str, ...]]"]()
    gated = _Loaded["frozenset[str]"]()
    names: tuple[str, ...] = ()
    source: Callable[[str, str], bytes | None] | None = None

    def __init__(
        self,
        *,
        profiles: Lazy[tuple[Profile, ...]] = (),
        names: tuple[str, ...] = (),
        versions: Lazy[tuple[MinorVersion | None, ...]] = (),
        pair: Lazy[tuple[Profile, Profile]] | None = None,
        sides: Lazy[tuple[PairSide, PairSide]] = _SIDES,
        series: Lazy[tuple[MetricHistory, ...]] = (),
        changes: Lazy[tuple[Change, ...]] = (),
        source: Callable[[str, str], bytes | None] | None = None,
        accepted: Lazy[Mapping[str, str]] = EMPTY,
        decided: Lazy[Mapping[str, str]] = EMPTY,
        releases: Lazy[Mapping[str, tuple[str, ...]]] = EMPTY,
        gated: Lazy[frozenset[str]] = frozenset(),
    ) -> None:
        self.__dict__.update({name: argument for name, argument in locals().items() if name != "self"})

    __attrs_attrs__ = AttrsFields()
    _field_defaults: Mapping[str, Any] = __init__.__kwdefaults__ or EMPTY
    _fields = tuple(_field_defaults)

    def _argument(self, name: str) -> Any:
        return self.__dict__.get(name, self._field_defaults[name])

    @property
    def contents(self) -> frozenset[str]:
        """The kinds of data that there are, without loading any: a function counts, whatever it would give."""
        return frozenset(name for name in CONTENTS if self._argument(name))


Subject = ViewData  # the name before the data became lazy, which views may still import
