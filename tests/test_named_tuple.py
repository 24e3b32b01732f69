"""Our named tuples do what those of `typing` do."""

from __future__ import annotations

import copy
import pickle
import typing
from typing import Any, Generic, TypeVar

import pytest

from perfcore import named_tuple

T = TypeVar("T")


class Ours(named_tuple.NamedTuple):
    name: str
    size: int = 3
    parts: tuple[str, ...] = ()

    @property
    def double(self) -> int:
        return self.size * 2


class Theirs(typing.NamedTuple):
    name: str
    size: int = 3
    parts: tuple[str, ...] = ()

    @property
    def double(self) -> int:
        return self.size * 2


class Box(named_tuple.NamedTuple, Generic[T]):
    content: T


class Wide(named_tuple.NamedTuple):
    a: int
    b: int
    c: int
    d: int
    e: int
    f: int
    g: int
    h: int
    i: int
    j: int
    k: int
    l: int = 12  # noqa: E741
    m: int = 13
    cls: int = 14


@pytest.mark.parametrize(
    ("positional", "named"),
    [
        (("x",), {}),
        (("x", 5), {}),
        (("x", 5, ("y",)), {}),
        ((), {"name": "x"}),
        (("x",), {"parts": ("y", "z")}),
        ((), {"parts": (), "size": 1, "name": "x"}),
    ],
)
def test_it_is_made_of_arguments_by_place_and_by_name(positional: tuple[Any, ...], named: dict[str, Any]) -> None:
    ours, theirs = Ours(*positional, **named), Theirs(*positional, **named)
    assert tuple(ours) == tuple(theirs)
    assert (ours.name, ours.size, ours.parts, ours.double) == (theirs.name, theirs.size, theirs.parts, theirs.double)
    assert ours == theirs  # type: ignore[comparison-overlap]
    assert hash(ours) == hash(theirs)
    assert repr(ours) == repr(theirs).replace("Theirs", "Ours")
    assert ours._asdict() == theirs._asdict()


@pytest.mark.parametrize(
    ("positional", "named"),
    [((), {}), ((1, 2, 3, 4), {}), (("x",), {"name": "y"}), (("x",), {"weight": 1}), ((), {"size": 1})],
)
def test_wrong_arguments_are_refused_in_the_same_words(positional: tuple[Any, ...], named: dict[str, Any]) -> None:
    with pytest.raises(TypeError) as theirs:
        Theirs(*positional, **named)
    with pytest.raises(TypeError) as ours:
        Ours(*positional, **named)
    assert str(ours.value) == str(theirs.value).replace("Theirs", "Ours")


def test_it_changes_only_into_another() -> None:
    ours = Ours("x", 5)
    assert ours._replace(size=6) == ("x", 6, ())
    with pytest.raises(TypeError):
        ours._replace(weight=1)  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        ours.size = 6  # type: ignore[misc]
    with pytest.raises(AttributeError):
        ours.weight = 1  # type: ignore[attr-defined]
    assert Ours._make(["x", 5, ()]) == ours


def test_it_is_copied_and_pickled_as_what_it_is() -> None:
    ours = Ours("x", 5, ("y",))
    for again in (copy.copy(ours), copy.deepcopy(ours), *(pickle.loads(pickle.dumps(ours, n)) for n in range(6))):
        assert type(again) is Ours
        assert again == ours


def test_it_has_what_is_known_of_named_tuples() -> None:
    for name in ("_fields", "_field_defaults", "__match_args__", "__slots__", "__module__"):
        assert getattr(Ours, name) == getattr(Theirs, name)
    assert typing.get_type_hints(Ours) == typing.get_type_hints(Theirs)
    match Ours("x", 5):
        case Ours(name, size=5):
            assert name == "x"
        case _:
            pytest.fail("no match")


def test_it_can_be_generic_and_wide() -> None:
    assert Box[int](3).content == 3
    assert Wide(*range(11)) == (*range(11), 12, 13, 14)
    assert Wide(*range(11), cls=5).cls == 5  # type: ignore[misc]
