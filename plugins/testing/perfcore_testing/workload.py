"""The contract of generators of workloads. Inherit from it in your tests:

class TestLines(WorkloadContract):
    specs = ({"lines": [1, 10, 100]}, {"lines": [5]})
    wrong = ({"lines": "many"}, {"lnies": [1]})

    @pytest.fixture
    def driver(self):
        return Lines()
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from perfcore.errors import PerfError
from perfcore_testing.kinds import misfits

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from perfcore.hookspecs import Workload


class WorkloadContract:
    """What every generator keeps. Override `driver`, `specs` and `wrong`; specs should be small."""

    specs: ClassVar[Sequence[Mapping[str, Any]]] = ()
    """What can be asked for, as it is written in a job matrix; each should give a file or more."""
    wrong: ClassVar[Sequence[Mapping[str, Any]]] = ()
    """What cannot: an unknown key, a value of another type, sizes that make no sense."""
    growing = True
    """Each file is larger than the one before."""

    @pytest.fixture
    def driver(self) -> Workload:
        raise NotImplementedError("override the fixture `driver` and return a generator of workloads")

    @pytest.fixture(autouse=True)
    def elsewhere(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
        """Every law is tried in an empty folder, and nothing may be left there."""
        folder = tmp_path / "elsewhere"
        folder.mkdir()
        monkeypatch.chdir(folder)
        yield folder
        assert list(folder.iterdir()) == [], "the generator wrote outside the directory that it was given"

    @pytest.fixture
    def directory(self, tmp_path: Path) -> Path:
        return _new(tmp_path / "first")

    def test_it_fits_the_kind(self, driver: Workload) -> None:
        """Its method has the specification's arguments, and there are specs to try it with."""
        assert misfits("workload", driver) == []
        assert self.specs

    def test_every_file_is_whole_when_it_is_given(self, driver: Workload, directory: Path) -> None:
        """It lies below the directory, is given once, and does not change afterwards: the command may run on it
        while the next one is not made yet."""
        for spec in self.specs:
            contents: dict[Path, bytes] = {}
            for path in driver.generate(spec, directory):
                assert path.is_file()
                assert directory.resolve() in path.resolve().parents
                assert path not in contents
                contents[path] = path.read_bytes()
            assert contents
            assert {path: path.read_bytes() for path in contents} == contents

    def test_the_same_spec_gives_the_same_files(self, driver: Workload, tmp_path: Path) -> None:
        """Names, order and content, in any directory and at any time: a workload is compared by its content."""
        for index, spec in enumerate(self.specs):
            first, second = _new(tmp_path / f"one{index}"), _new(tmp_path / f"other{index}")
            assert _made(driver, spec, first) == _made(driver, spec, second)

    def test_other_specs_give_other_files(self, driver: Workload, tmp_path: Path) -> None:
        """What the spec says has an effect."""
        outputs = [_made(driver, spec, _new(tmp_path / f"spec{n}")) for n, spec in enumerate(self.specs)]
        assert all(outputs.count(output) == 1 for output in outputs)

    def test_the_spec_stays_as_it_was(self, driver: Workload, directory: Path) -> None:
        """It belongs to the caller."""
        for spec in self.specs:
            before = repr(spec)
            _made(driver, spec, directory)
            assert repr(spec) == before

    def test_files_come_in_growing_size(self, driver: Workload, tmp_path: Path) -> None:
        """So that a measurement can stop when a run takes too long."""
        if not self.growing:
            pytest.skip("the files are not ordered by size")
        for index, spec in enumerate(self.specs):
            sizes = [len(content) for _, content in _made(driver, spec, _new(tmp_path / f"size{index}"))]
            assert sizes == sorted(set(sizes))

    def test_a_file_is_not_made_before_it_is_asked_for(self, driver: Workload, tmp_path: Path) -> None:
        """The last ones may be huge, and the measurement may end before them."""
        for index, spec in enumerate(self.specs):
            every = len(_made(driver, spec, _new(tmp_path / f"every{index}")))
            folder = _new(tmp_path / f"lazy{index}")
            paths = driver.generate(spec, folder)
            next(iter(paths))
            if every > 1:
                assert sum(path.is_file() for path in folder.rglob("*")) < every

    def test_a_spec_that_makes_no_sense_is_refused(self, driver: Workload, directory: Path) -> None:
        """By a PerfError, and before any file is made."""
        for spec in self.wrong:
            with pytest.raises(PerfError):
                list(driver.generate(spec, directory))
            assert list(directory.iterdir()) == []


def _new(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _made(driver: Workload, spec: Mapping[str, Any], directory: Path) -> list[tuple[str, bytes]]:
    """The files in the order in which they are given, by their names below the directory."""
    return [(path.relative_to(directory).as_posix(), path.read_bytes()) for path in driver.generate(spec, directory)]
