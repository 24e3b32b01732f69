import pytest

from perfcore.cli import listing, log_page
from perfcore.cli.log_page import Unmarked
from perfcore.model import Entry
from perfcore.text import align


class _NoMarks:
    def of(self, version: str) -> Unmarked:
        return Unmarked()


@pytest.mark.parametrize(
    "words",
    [
        {"cmd": "./sort", "args": "-r", "workload": "big.txt", "collector": "time"},
        {"cmd": "./sort", "tags": ("a", "b"), "postprocessors": ("filter",)},
        {"cmd": "./sort ", "collector": "papi", "config_id": "c", "environment_id": "e"},
        {},
    ],
)
def test_a_single_profile_of_a_version_is_written_as_a_table_of_one_row(words: dict[str, str]) -> None:
    entry = Entry(profile="ab" * 20, created=10**18, name="a.perf", type="papi.software", tables=("cd" * 20,), **words)  # type: ignore[arg-type]
    (row,) = align([("  0@i", *listing.entry_cells(entry))])
    assert log_page._rows(_NoMarks(), "12" * 20, (entry,)) == f"{row}\n\n"  # type: ignore[arg-type]


def test_profiles_that_differ_in_one_word_are_told_apart() -> None:
    first = Entry(profile="ab" * 20, created=0, name="a.perf", type="time", cmd="a", collector="time")
    others = [first._replace(cmd="b"), first._replace(args="b"), first._replace(collector="b")]
    others += [first._replace(postprocessors=("b",)), first._replace(tags=("b",))]
    assert len({listing.entry_cells(entry) for entry in (first, *others)}) == 1 + len(others)
