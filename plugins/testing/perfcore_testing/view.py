"""The contract of views. Inherit from it in your tests:

    class TestMyView(ViewContract):
        @pytest.fixture
        def driver(self):
            return MyView()

Each law is tried on samples of the data that the view accepts: every profile of `perfcore_testing.profiles`, pairs of
them, every series of `perfcore_testing.histories`, and its changes. A view need not be able to show each of them, but
where it cannot, it says so with a PerfError.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pytest

from perfcore.errors import PerfError
from perfcore.model import ViewData
from perfcore.model.views import CONTENTS, DEFAULT_ACCEPTS
from perfcore.text import width
from perfcore_testing import histories, hostile, profiles
from perfcore_testing.kinds import misfits
from perfcore_testing.output import FakeOutput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from perfcore.hookspecs import View
    from perfcore.model import MetricHistory, Profile


def _samples() -> Iterator[tuple[str, str, Callable[[], ViewData]]]:
    """(name, content, maker) of all data that views are tried on."""
    for name, profile in profiles.SAMPLES.items():
        yield name, "profiles", functools.partial(_profile_data, profile)
    for name, history in histories.SAMPLES.items():
        yield f"series {name}", "series", functools.partial(_series_data, history)
    for name in ("timed", "sampled", "hostile"):
        yield f"pair {name}", "pair", functools.partial(_pair_data, profiles.SAMPLES[name])
    for name in ("changed", "hostile"):
        yield f"changes {name}", "changes", functools.partial(_changes_data, histories.SAMPLES[name])


def _profile_data(make: Callable[[], Profile]) -> ViewData:
    return profiles.subject(make())


def _series_data(make: Callable[[], MetricHistory]) -> ViewData:
    return histories.data(make())


def _pair_data(make: Callable[[], Profile]) -> ViewData:
    return ViewData(pair=(make(), make()))


def _changes_data(make: Callable[[], MetricHistory]) -> ViewData:
    return ViewData(changes=make().changes)


_MAKERS: Mapping[str, tuple[str, Callable[[], ViewData]]] = {
    name: (content, maker) for name, content, maker in _samples()
}
_PLAIN: Mapping[str, str] = {
    "profiles": "timed",
    "pair": "pair timed",
    "series": "series changed",
    "changes": "changes changed",
}
SAMPLES = sorted(_MAKERS)


class _Full(FakeOutput):
    """An output whose reader has gone."""

    def write_bytes(self, data: bytes) -> None:
        raise BrokenPipeError


class ViewContract:
    """What every view keeps. Override `driver`; the flags say what kind of output it makes."""

    html = False
    """The output is HTML: no name may become markup in it."""
    binary = False
    """The output is no text: laws about characters are skipped."""
    exact = False
    """The output is data for programs and holds names as they are, control characters included."""
    fitted = False
    """On a terminal no line is wider than it."""
    folder = False
    """With a path it writes a folder of pages there, as its class attribute `folder` says."""
    columns: int | None = 80
    """How wide the terminal is that most laws are tried on. None for a view that refuses to write to one."""

    @pytest.fixture
    def driver(self) -> View:
        raise NotImplementedError("override the fixture `driver` and return a view")

    @pytest.fixture(autouse=True)
    def elsewhere(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
        """Every law is tried in an empty folder, and nothing may be left there."""
        folder = tmp_path / "empty"
        folder.mkdir()
        monkeypatch.chdir(folder)
        yield folder
        assert list(folder.iterdir()) == [], "the view wrote something that nobody had asked for"

    def test_it_fits_the_kind(self, driver: View) -> None:
        """Its methods have the specification's arguments, its options say what they are for."""
        assert misfits("view", driver) == []

    def test_it_accepts_data_that_there_are(self, driver: View) -> None:
        """Its class attribute `accepts` names kinds of data that verbs can give."""
        assert accepted(driver)
        assert accepted(driver) <= set(CONTENTS), f"there are {', '.join(CONTENTS)}"

    @pytest.mark.parametrize("sample", SAMPLES)
    def test_a_profile_is_shown_or_refused_with_a_reason(self, driver: View, sample: str) -> None:
        """No data make a traceback: a profile of a known or unknown type, empty, with values missing, with hostile
        names. What is not shown is refused by a PerfError before anything is written."""
        output = FakeOutput()
        refused = _refusal(driver, _data(driver, sample), output)
        assert refused is None or (str(refused) and output.data == b"")

    def test_some_profile_is_shown(self, driver: View) -> None:
        """At least one of the samples is not refused."""
        assert any(_rendered(driver, sample, self.columns) for sample in SAMPLES if _accepts(driver, sample))

    @pytest.mark.parametrize("sample", SAMPLES)
    def test_a_profile_is_shown_the_same_each_time(self, driver: View, sample: str) -> None:
        """The output depends on the data alone, neither on the time nor on hash seeds or addresses."""
        assert _rendered(driver, sample, self.columns) == _rendered(driver, sample, self.columns)

    @pytest.mark.parametrize("sample", sorted(profiles.SAMPLES))
    def test_the_profile_stays_as_it_was(self, driver: View, sample: str) -> None:
        """A view looks and does not touch."""
        data = _data(driver, sample)
        _refusal(driver, data, FakeOutput(width=self.columns))
        assert data.profiles == (profiles.SAMPLES[sample](),)

    def test_several_profiles_are_shown_or_refused_with_a_reason(self, driver: View) -> None:
        """Two profiles of one command, and two that have nothing in common, with hostile names of their own; the
        same of series."""
        if "profiles" in accepted(driver):
            for pair in ((profiles.timed(), profiles.timed(runs=3)), (profiles.traced(), profiles.hostile())):
                for names in (None, hostile.NAMES[:2], ()):
                    _refusal(driver, profiles.subject(*pair, names=names), FakeOutput())
        if "series" in accepted(driver):
            _refusal(driver, histories.data(histories.changed(), histories.hostile()), FakeOutput())

    def test_nothing_to_show_is_said(self, driver: View) -> None:
        """Without any data, there is an empty picture or a PerfError."""
        _refusal(driver, profiles.subject(), FakeOutput())

    @pytest.mark.parametrize("columns", [None, 80, 20])
    def test_hostile_names_stay_text(self, driver: View, columns: int | None) -> None:
        """No escape sequence, control or direction character of a name comes out as it is, neither on the output
        nor in what is said; in HTML no name becomes markup."""
        if self.binary:
            pytest.skip("the output is no text")
        output = FakeOutput(width=columns)
        for data in _hostile(driver):
            _refusal(driver, data, output)
        assert hostile.unsafe("".join(output.said)) == set()
        if not self.exact:
            assert hostile.unsafe(output.text) == set()
        if self.html:
            assert not [tag for tag in hostile.TAGS if tag in output.text]

    @pytest.mark.parametrize("sample", SAMPLES)
    def test_no_line_is_wider_than_the_terminal(self, driver: View, sample: str) -> None:
        """Whatever the names; a long one is cut."""
        if not self.fitted:
            pytest.skip("the view does not fit its output to the terminal")
        for columns in (100, 40, 12):
            output = FakeOutput(width=columns)
            _refusal(driver, _data(driver, sample), output)
            assert [line for line in output.lines if width(line) > columns] == []

    def test_colours_are_used_only_where_they_are_wanted(self, driver: View) -> None:
        """On a terminal without colours there is no escape sequence."""
        output = FakeOutput(width=80, color=False)
        _refusal(driver, _plain(driver), output)
        assert b"\x1b" not in output.data or self.binary

    def test_a_file_that_was_asked_for_is_the_only_one(self, driver: View, tmp_path: Path) -> None:
        """With `output.path`, the picture is in that file, be it written through the output or by the view."""
        assert getattr(driver, "folder", False) == self.folder
        path = tmp_path / "out" / "picture"
        path.parent.mkdir()
        for sample in filter(lambda sample: _accepts(driver, sample), SAMPLES):
            output = FakeOutput(path=None if self.folder else path)
            output.path = path
            refused = _refusal(driver, _data(driver, sample), output)
            assert list(path.parent.iterdir()) == ([path] if path.exists() else [])
            assert path.exists() or (refused and self.folder)
            assert refused or output.data in (b"" if self.folder else path.read_bytes(), b"")
            assert refused or not self.folder or _names_in(path)

    def test_names_stay_text_and_inside_of_the_folder(self, driver: View, tmp_path: Path) -> None:
        """No name of a file or function leads out of the folder or becomes markup in a page of it."""
        if not self.folder:
            pytest.skip("the view writes one file")
        for number, data in enumerate(_hostile(driver)):
            output = FakeOutput()
            output.path = tmp_path / "out" / str(number)
            _refusal(driver, data, output)
        assert {path.name for path in tmp_path.iterdir()} <= {"out", "empty"}
        for path in (tmp_path / "out").rglob("*"):
            assert path.is_dir() or path.resolve().is_relative_to(tmp_path / "out")
            assert path.is_dir() or not [tag for tag in hostile.TAGS if tag in path.read_text(encoding="utf-8")]

    def test_an_output_that_fails_is_not_passed_over(self, driver: View) -> None:
        """The reader of a pipe may go at any time; the command has to notice."""
        output = FakeOutput(width=self.columns)
        _refusal(driver, _plain(driver), output)
        if output.data:
            with pytest.raises(BrokenPipeError):
                driver.render(_plain(driver), _Full())


def _names_in(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def accepted(driver: View) -> frozenset[str]:
    """The kinds of data that a view accepts."""
    return frozenset(getattr(driver, "accepts", DEFAULT_ACCEPTS))


def _accepts(driver: View, sample: str) -> bool:
    return _MAKERS[sample][0] in accepted(driver)


def _data(driver: View, sample: str) -> ViewData:
    if not _accepts(driver, sample):
        pytest.skip(f"the view does not accept {_MAKERS[sample][0]}")
    return _MAKERS[sample][1]()


def _plain(driver: View) -> ViewData:
    """Data without surprises."""
    content = next(content for content in CONTENTS if content in accepted(driver))
    return _MAKERS[_PLAIN[content]][1]()


def _hostile(driver: View) -> Iterator[ViewData]:
    if "profiles" in accepted(driver):
        pair = (profiles.hostile(), profiles.undecodable())
        yield from map(profiles.subject, pair)
        yield profiles.subject(*pair, names=hostile.NAMES[1:3])
    for sample in ("pair hostile", "series hostile", "changes hostile"):
        if _accepts(driver, sample):
            yield _data(driver, sample)


def _refusal(driver: View, data: ViewData, output: FakeOutput) -> PerfError | None:
    """Why the view did not show it; None where it did."""
    refused = None
    try:
        driver.render(data, output)
    except PerfError as error:
        refused = error
    assert hostile.unsafe(f"{refused}{refused and refused.hint}") == set()
    return refused


def _rendered(driver: View, sample: str, columns: int | None) -> bytes:
    output = FakeOutput(width=columns)
    _refusal(driver, _data(driver, sample), output)
    return output.data
