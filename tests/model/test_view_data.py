"""Data of views with the functions of attrs, and in subclasses."""

from __future__ import annotations

import dataclasses
from typing import Any

import attrs as attrs_package
import pytest

from perfcore.model import ViewData

NAMES = {
    "profiles",
    "names",
    "versions",
    "pair",
    "sides",
    "series",
    "changes",
    "source",
    "accepted",
    "decided",
    "releases",
    "gated",
}


changed: Any = attrs_package.evolve


class Loads:
    """A function that loads, and counts."""

    count = 0

    def __call__(self) -> Any:
        self.count += 1
        return ("loaded",)


def test_the_functions_of_attrs_take_it() -> None:
    attrs: Any = attrs_package  # whose types know attrs' own classes only
    profiles: Any = Loads()
    data = ViewData(profiles=profiles, names=("a",))
    assert {field.name for field in attrs.fields(ViewData)} == NAMES
    other = attrs.evolve(data, names=("b",))
    assert (type(other), other.names, other.profiles, profiles.count) == (ViewData, ("b",), ("loaded",), 1)
    assert attrs.asdict(data, recurse=False).keys() == NAMES
    assert attrs.asdict(data)["profiles"] == ("loaded",)


@pytest.mark.parametrize("define", [attrs_package.define, attrs_package.frozen])
def test_a_subclass_of_attrs_has_its_fields_and_loads_them_once(define: Any) -> None:
    attrs: Any = attrs_package

    @define(kw_only=True)
    class Titled(ViewData):
        title: str = "none"

    profiles = Loads()
    make: Any = Titled
    data = make(profiles=profiles, title="x", names=("a",))
    assert (data.contents, profiles.count) == (frozenset({"profiles"}), 0)
    assert [data.profiles for _ in range(2)] == [("loaded",)] * 2
    assert (data.title, data.names, data.pair, profiles.count) == ("x", ("a",), None, 1)
    other = attrs.evolve(data, title="y")
    assert (other.title, other.profiles, profiles.count) == ("y", ("loaded",), 1)


def test_a_dataclass_is_empty_unless_it_hands_the_fields_on() -> None:
    @dataclasses.dataclass
    class Titled(ViewData):
        title: str = "none"

    data: Any = Titled(title="x")
    assert (data.title, data.profiles, data.names, data.source, data.contents) == ("x", (), (), None, frozenset())
    ViewData.__init__(data, profiles=("p",))  # type: ignore[arg-type]
    assert (data.title, data.profiles) == ("x", ("p",))


def test_a_plain_subclass_hands_the_fields_on() -> None:
    class Titled(ViewData):
        def __init__(self, title: str = "none", **fields: Any) -> None:
            super().__init__(**fields)
            self.title = title

    data = Titled("x", names=("a",))
    assert (data.title, changed(data, names=("b",)).names) == ("x", ("b",))
