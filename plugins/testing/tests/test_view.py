"""The contract of views: a view that keeps it, and what it finds in some that do not."""

from __future__ import annotations

import contextlib
import html
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from perfcore_testing.output import FakeOutput
from perfcore_testing.view import ViewContract

from perfcore.errors import NotFoundError
from perfcore.hookspecs import Output
from perfcore.model import ViewData
from perfcore.text import clip, printable


class Columns:
    """The names of the columns of every table, one a line."""

    def render(self, subject: ViewData, output: Output) -> None:
        for profile in subject.profiles:
            for name in profile.tables:
                for column in profile.tables[name].columns:
                    text = printable(f"{name}: {column.name}".encode("utf-8", "replace").decode())
                    output.write((clip(text, output.width) if output.width else text) + "\n")


class Page:
    """A page of the names of functions."""

    def render(self, subject: ViewData, output: Output) -> None:
        if not subject.profiles:
            raise NotFoundError("there is no profile to show")
        items = [
            f"<li>{html.escape(printable(str(name)))}</li>"
            for profile in subject.profiles
            for name in (profile.tables["resources"].get("uid") or () if "resources" in profile.tables else ())
        ]
        output.write_bytes(f"<!doctype html>\n<ul>{''.join(items)}</ul>\n".encode())


class TestColumns(ViewContract):
    fitted = True

    @pytest.fixture
    def driver(self) -> Columns:
        return Columns()


class TestPage(ViewContract):
    html = True

    @pytest.fixture
    def driver(self) -> Page:
        return Page()


class Broken:
    """Does what it is told instead of rendering."""

    def __init__(self, act: Callable[[ViewData, Output], object]) -> None:
        self.act = act

    def render(self, subject: ViewData, output: Output) -> None:
        self.act(subject, output)


def _raw(subject: ViewData, output: Output) -> None:
    for profile in subject.profiles:
        resources = profile.table("resources")
        for name in (resources.get("uid") if resources else None) or ():
            output.write(f"{name}\n")


def _swallow(subject: ViewData, output: Output) -> None:
    with contextlib.suppress(OSError):
        output.write("text")


def _beside(subject: ViewData, output: Output) -> None:
    if output.path:
        (output.path.parent / "cache").write_text("x")


@pytest.mark.parametrize(
    ("law", "act", "arguments"),
    [
        ("test_hostile_names_stay_text", _raw, {"columns": None}),
        ("test_some_profile_is_shown", lambda subject, output: None, {}),
        ("test_a_profile_is_shown_the_same_each_time", lambda s, o: o.write(os.urandom(8).hex()), {"sample": "timed"}),
        ("test_colours_are_used_only_where_they_are_wanted", lambda s, o: o.write("\x1b[1mx"), {}),
        ("test_no_line_is_wider_than_the_terminal", lambda s, o: o.write("x" * 101), {"sample": "timed"}),
        ("test_a_file_that_was_asked_for_is_the_only_one", _beside, {}),
    ],
)
def test_a_law_finds_the_view_that_breaks_it(
    law: str, act: Callable[[ViewData, Output], object], arguments: dict[str, Any], tmp_path: Path
) -> None:
    class Contract(ViewContract):
        fitted = True

    wanted = {"tmp_path": tmp_path} if act is _beside else arguments
    with pytest.raises(AssertionError):
        getattr(Contract(), law)(Broken(act), **wanted)


def test_a_view_that_hides_a_broken_pipe_is_found() -> None:
    with pytest.raises(pytest.fail.Exception):
        ViewContract().test_an_output_that_fails_is_not_passed_over(Broken(_swallow))


def test_a_method_with_other_arguments_is_found() -> None:
    class Other:
        def render(self, profile: Any, output: Output) -> None:
            pass

    with pytest.raises(AssertionError, match=r"it has render\(profile.*the specification render\(subject, output\)"):
        ViewContract().test_it_fits_the_kind(Other())


def test_the_fake_output_refuses_what_no_output_can_encode(tmp_path: Path) -> None:
    output = FakeOutput(path=tmp_path / "file")
    output.write("naïve\n")
    output.write_bytes(b"more")
    assert (output.text, output.lines) == ("naïve\nmore", ["naïve", "more"])
    assert (tmp_path / "file").read_bytes() == output.data
    with pytest.raises(UnicodeEncodeError):
        output.write("\udce9")
