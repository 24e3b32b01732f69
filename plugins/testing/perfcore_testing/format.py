"""The contract of file formats. Inherit from it in your tests:

    class TestLines(FormatContract):
        suffix = ".jsonl"

        @pytest.fixture
        def driver(self):
            return Lines()

A format that only reads overrides `example` with a folder of files of its kind; one that only writes is held to
the laws of writing.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

import pytest

from perfcore.errors import FormatError, PerfError
from perfcore.hookspecs import VersionedProfile
from perfcore.model import Profile
from perfcore_testing import hostile, profiles
from perfcore_testing.kinds import misfits
from perfcore_testing.transforming import SAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from perfcore.hookspecs import Format

HEAD = 4096
JUNK: tuple[tuple[bytes, str], ...] = (
    (b"", "empty"),
    (b"\x00" * HEAD, "zeros.bin"),
    (bytes(range(256)) * 16, "bytes.dat"),
    (b"\x7fELF\x02\x01\x01" + b"\x00" * 64, "a.out"),
    (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "picture.png"),
    (b"Dear reader,\n\nthis is no profile.\n", "letter.txt"),
    (b"<!doctype html><title>x</title>", "index.html"),
    (b"\xff\xfe\x00\x00", "wide.txt"),
    (b"x" * HEAD, "\x1b[2J\n"),
)


class FormatContract:
    """What every format keeps. Override `driver` and `suffix`."""

    suffix = ""
    """How the names of its files end."""
    exact = True
    """What was written is read back equal. False for a format that holds less than a profile."""
    checked = True
    """A file that lost its end is noticed. False where each beginning of a file is a file."""
    holds = "traced"
    """The sample of `perfcore_testing.profiles` that it has a place for."""

    @pytest.fixture
    def driver(self) -> Format:
        raise NotImplementedError("override the fixture `driver` and return a format")

    @pytest.fixture
    def example(self, driver: Format, tmp_path: Path) -> Path:
        """A small file of the format."""
        path = tmp_path / f"example{self.suffix}"
        driver.write(profiles.SAMPLES[self.holds](), path)
        return path

    def test_it_fits_the_kind(self, driver: Format) -> None:
        """Its methods have the specification's arguments, and it reads or writes."""
        assert misfits("format", driver) == []
        assert any(hasattr(driver, method) for method in ("read", "read_all", "write"))

    def test_its_own_files_are_recognised(self, driver: Format, example: Path) -> None:
        """By their first 4,096 bytes and their name."""
        assert driver.sniff(example.read_bytes()[:HEAD], example.name) is True

    @pytest.mark.parametrize(("head", "name"), JUNK, ids=[repr(name) for _, name in JUNK])
    def test_files_of_other_kinds_are_not(self, driver: Format, head: bytes, name: str) -> None:
        """Whatever the bytes and the name are, sniffing answers and never fails."""
        assert driver.sniff(head, name) is False

    def test_a_profile_is_read(self, driver: Format, example: Path) -> None:
        """And the file stays as it is."""
        _needs_reading(driver)
        before = example.read_bytes()
        assert isinstance(read(driver, example), Profile)
        assert example.read_bytes() == before

    def test_every_profile_comes_with_its_version(self, driver: Format, example: Path) -> None:
        """`read_all` gives profiles with versions, the same ones again, and what `read` gives where there is one."""
        if not hasattr(driver, "read_all"):
            pytest.skip("the format has no `read_all`, and perfcore makes one of `read`")
        items = list(driver.read_all(example))
        assert items
        for item in items:
            assert isinstance(item, VersionedProfile | FormatError)
            assert isinstance(item, FormatError) or item.version is None or item.version.isprintable()
        assert [item for item in items if isinstance(item, VersionedProfile)] == [
            item for item in driver.read_all(example) if isinstance(item, VersionedProfile)
        ]
        if hasattr(driver, "read") and len(items) == 1 and isinstance(items[0], VersionedProfile):
            assert driver.read(example) == items[0].profile

    @pytest.mark.parametrize("sample", SAMPLES)
    def test_what_was_written_is_read_back_equal(self, driver: Format, sample: str, tmp_path: Path) -> None:
        """Every table, value, missing value, unit and name, the largest integers and the strangest floats
        included; names that are no Unicode may come back as escapes."""
        _needs_reading(driver)
        written = _written(driver, profiles.SAMPLES[sample](), tmp_path / f"file{self.suffix}")
        if written is not None:
            reread = read(driver, written)
            if self.exact:
                assert dict(reread.tables) == dict(profiles.stored(profiles.SAMPLES[sample]()).tables)
                assert reread.header.argv == profiles.SAMPLES[sample]().header.argv
            else:
                assert isinstance(reread, Profile)

    @pytest.mark.parametrize("sample", SAMPLES)
    def test_writing_leaves_the_profile_as_it_was_and_only_the_file(
        self, driver: Format, sample: str, tmp_path: Path
    ) -> None:
        """No temporary file stays, and a second writing gives the same bytes."""
        _needs(driver, "write")
        folder = tmp_path / "folder"
        folder.mkdir()
        profile = profiles.SAMPLES[sample]()
        written = _written(driver, profile, folder / f"file{self.suffix}")
        assert profile == profiles.SAMPLES[sample]()
        assert list(folder.iterdir()) == ([written] if written else [])
        if written:
            rewritten = _written(driver, profiles.SAMPLES[sample](), tmp_path / f"again{self.suffix}")
            assert rewritten is not None
            assert rewritten.read_bytes() == written.read_bytes()

    @pytest.mark.parametrize("sample", SAMPLES)
    def test_its_files_of_all_profiles_are_recognised(self, driver: Format, sample: str, tmp_path: Path) -> None:
        """Large and empty ones too."""
        _needs(driver, "write")
        written = _written(driver, profiles.SAMPLES[sample](), tmp_path / f"file{self.suffix}")
        if written is not None:
            with written.open("rb") as file:
                assert driver.sniff(file.read(HEAD), written.name) is True

    def test_a_file_that_lost_its_end_is_told_so(self, driver: Format, example: Path) -> None:
        """Cut anywhere: a FormatError that is one message in print, never another exception."""
        _needs_reading(driver)
        content = example.read_bytes()
        # Some 200 cuts: every one of a large file would take minutes. The last four bytes are cut one by one.
        step = max(1, len(content) // 200)
        for size in sorted({*range(0, len(content), step), *range(max(0, len(content) - 4), len(content))}):
            example.write_bytes(content[:size])
            with self._refused(example.name, always=self.checked and content[:size].strip() != content.strip()):
                read(driver, example)

    def test_a_file_with_a_wrong_byte_is_read_or_told_so(self, driver: Format, example: Path) -> None:
        """Whatever is wrong and wherever: a profile or a FormatError."""
        _needs_reading(driver)
        content = example.read_bytes()
        for offset in range(0, len(content), max(1, len(content) // 300)):
            # NUL, a byte that is in no UTF-8, and one flipped bit, as failing memory leaves it.
            for wrong in (0x00, 0xFF, content[offset] ^ 0x10):
                example.write_bytes(content[:offset] + bytes([wrong]) + content[offset + 1 :])
                with self._refused(example.name, always=False):
                    read(driver, example)

    @pytest.mark.parametrize(("content", "name"), JUNK, ids=[repr(name) for _, name in JUNK])
    def test_junk_is_told_to_be_no_profile(self, driver: Format, content: bytes, name: str, tmp_path: Path) -> None:
        """Sniffing is not asked where the user names the format."""
        _needs_reading(driver)
        path = tmp_path / f"junk{self.suffix}"
        path.write_bytes(content)
        with pytest.raises(FormatError):
            read(driver, path)

    def test_a_file_that_is_not_there_is_an_error(self, driver: Format, tmp_path: Path) -> None:
        """OSError or PerfError, both of which are told in one line."""
        _needs_reading(driver)
        with pytest.raises((OSError, PerfError)):
            read(driver, tmp_path / f"nothing{self.suffix}")

    def test_a_file_that_cannot_be_written_is_an_error(self, driver: Format, tmp_path: Path) -> None:
        """And nothing is left behind."""
        _needs(driver, "write")
        with pytest.raises((OSError, PerfError)):
            driver.write(profiles.SAMPLES[self.holds](), tmp_path / "no" / f"such{self.suffix}")
        assert not (tmp_path / "no").exists()

    @pytest.mark.skipif(os.name != "posix", reason="a full disk is simulated by a limit that only POSIX has")
    def test_a_full_disk_leaves_the_old_file(self, driver: Format, tmp_path: Path) -> None:
        """The file is written whole or not at all."""
        _needs(driver, "write")
        path = tmp_path / f"file{self.suffix}"
        driver.write(profiles.SAMPLES[self.holds](), path)
        before = path.read_bytes()
        with _small_files(len(before) // 2), pytest.raises((OSError, PerfError)):
            driver.write(profiles.SAMPLES[self.holds](), path)
        assert path.read_bytes() == before

    @contextlib.contextmanager
    def _refused(self, name: str, *, always: bool) -> Iterator[None]:
        refused = None
        try:
            yield
        except FormatError as error:
            refused = error
        assert refused is not None or not always, f"{name} was read although it is not whole"
        assert hostile.unsafe(str(refused)) == set()


def read(driver: Format, path: Path) -> Profile:
    """The profile of a file, by whichever method the format has: of several the first."""
    if hasattr(driver, "read"):
        return driver.read(path)
    items = list(driver.read_all(path))
    for item in items:
        if isinstance(item, FormatError):
            raise item
    return items[0].profile  # type: ignore[union-attr]  # the errors were raised


def _needs_reading(driver: Format) -> None:
    if not (hasattr(driver, "read") or hasattr(driver, "read_all")):
        pytest.skip("the format only writes")


def _needs(driver: Format, method: str) -> None:
    if not hasattr(driver, method):
        pytest.skip(f"the format does not {method}")


def _written(driver: Format, profile: Profile, path: Path) -> Path | None:
    """The file; None where the format has no place for such a profile and says so, writing nothing."""
    _needs(driver, "write")
    refused = False
    try:
        driver.write(profile, path)
    except PerfError:
        refused = True
    assert path.exists() is not refused
    return None if refused else path


@contextlib.contextmanager
def _small_files(size: int) -> Iterator[None]:
    """No file of this process grows beyond the size."""
    import resource

    # Beyond the limit `write` fails with EFBIG; Python ignores SIGXFSZ, which would end the process otherwise.
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
