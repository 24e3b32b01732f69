"""`-` and /dev/stdout as files of the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from perfcore_testing.profiles import timed

if TYPE_CHECKING:
    from .conftest import Here


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
@pytest.mark.parametrize(
    "words",
    [
        ("show", "0@i", "--format", "csv"),
        ("history", "--csv"),
        ("diff", "0@i", "0@i", "--json"),
        ("compare", "0@i", "0@i", "--json"),
    ],
)
def test_it_is_standard_output(here: Here, words: tuple[str, ...], name: str) -> None:
    here.register(timed())
    expected = here.perf(*words, code=None)
    done = here.perf(*words, "-o", name, code=None)
    assert (done.code, done.out) == (expected.code, expected.out)
    assert done.out
    assert not (here.path / "-").exists()


@pytest.mark.process
@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_a_profile_is_exported_to_standard_output(here: Here, name: str) -> None:
    here.register(timed())
    here.perf("export", "0@i", "-o", "profile.perf")
    done = here.real.perf("export", "0@i", "-o", name)
    assert done.out == (here.path / "profile.perf").read_text()
    assert done.err == ""
    assert not (here.path / "-").exists()


def test_export_replaces_with_a_short_option(here: Here) -> None:
    here.register(timed())
    here.perf("export", "0@i", "-o", "profile.perf")
    here.perf("export", "0@i", "-o", "profile.perf", code=2)
    here.perf("export", "0@i", "-f", "-o", "profile.perf")
