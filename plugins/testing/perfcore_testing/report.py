"""The contract of reports. Inherit from it in your tests:

    class TestTeamcity(ReportContract):
        @pytest.fixture
        def driver(self):
            return Teamcity()

Each law is tried on every result of `perfcore_testing.results`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from perfcore_command_kit.sources import NoSources

from perfcore.errors import PerfError
from perfcore_testing import hostile, results
from perfcore_testing.kinds import misfits

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from perfcore.hookspecs import Report, Sources

SAMPLES = sorted(results.SAMPLES)


class ReportContract:
    """What every report keeps. Override `driver`; the flags say what kind of document it makes."""

    html = False
    """The document is HTML, or Markdown that holds some: no name may become markup in it."""
    binary = False
    """The document is no text: laws about characters are skipped."""
    exact = False
    """The document is data for programs and holds names as they are, control characters included."""

    @pytest.fixture
    def driver(self) -> Report:
        raise NotImplementedError("override the fixture `driver` and return a report")

    @pytest.fixture(autouse=True)
    def elsewhere(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
        """Every law is tried in an empty folder, and nothing may be left there."""
        folder = tmp_path / "empty"
        folder.mkdir()
        monkeypatch.chdir(folder)
        yield folder
        assert list(folder.iterdir()) == [], "the report wrote a file, which is the command's task"

    def test_it_fits_the_kind(self, driver: Report) -> None:
        """Its method has the specification's arguments, its options say what they are for."""
        assert misfits("report", driver) == []

    @pytest.mark.parametrize("sample", SAMPLES)
    def test_every_result_makes_a_document(self, driver: Report, sample: str) -> None:
        """No result makes a traceback: of nothing, of every kind of change, with numbers missing or infinite, with
        hostile names. The document is text that UTF-8 can hold, or bytes."""
        _rendered(driver, sample, results.FakeSources())

    @pytest.mark.parametrize("sample", SAMPLES)
    def test_a_result_makes_the_same_document_each_time(self, driver: Report, sample: str) -> None:
        """It depends on the result alone, neither on the time nor on hash seeds or addresses."""
        first, second = (_rendered(driver, sample, results.FakeSources()) for _ in range(2))
        assert first == second

    @pytest.mark.parametrize("sample", SAMPLES)
    def test_the_result_stays_as_it_was(self, driver: Report, sample: str) -> None:
        """Other reports get the same one."""
        result = results.SAMPLES[sample]()
        before = repr(result)
        driver.render(result, results.FakeSources())
        assert repr(result) == before

    @pytest.mark.parametrize("sample", SAMPLES)
    def test_it_needs_no_sources(self, driver: Report, sample: str) -> None:
        """Outside of a repository, and in a shallow clone, no file is known."""
        _rendered(driver, sample, NoSources())

    def test_a_failing_change_is_shown(self, driver: Report) -> None:
        """Its document differs from that of a result without changes, and names the metric."""
        failing = _rendered(driver, "failing", NoSources())
        assert failing != _rendered(driver, "unchanged", NoSources())
        assert self.binary or b"cpu" in failing

    def test_hostile_names_stay_text(self, driver: Report) -> None:
        """No escape sequence, control or direction character of a name comes out as it is; in HTML no name becomes
        markup."""
        if self.binary:
            pytest.skip("the document is no text")
        text = _rendered(driver, "hostile", results.FakeSources()).decode("utf-8")
        if not self.exact:
            assert hostile.unsafe(text) == set()
        if self.html:
            assert not [tag for tag in hostile.TAGS if tag in text]


def _rendered(driver: Report, sample: str, sources: Sources) -> bytes:
    try:
        content = driver.render(results.SAMPLES[sample](), sources)
    except PerfError as error:
        content = f"refused: {error}"
    return content.encode("utf-8") if isinstance(content, str) else content
