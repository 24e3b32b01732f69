"""Samples as columns, and the profile made of them."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from perfcore_sample_kit import SampleRecorder, Samples, contents, start_of
from perfcore_testing import profiles

from perfcore.errors import FormatError, NotFoundError
from perfcore.model import Profile, Tool
from perfcore.profile.columns import ColumnSpec
from perfcore.profile.stacks import Frame
from perfcore.profile.table import column


def recorder() -> SampleRecorder:
    return SampleRecorder([ColumnSpec("samples", "i64", role="value")])


def made(recorder: SampleRecorder) -> Profile:
    return recorder.profile(Tool(name="test"), created=0, name="program")


def test_positions_give_the_order_where_there_are_no_times() -> None:
    samples = recorder()
    for name in "abc":
        samples.add(samples.stacks.add([Frame(name)]), (1,))
    profile = made(samples)
    assert not Samples.of(profile).is_ordered
    table = profile.tables["resources"].with_columns(column("position", [5, 9, 7], dtype="i64", role="order"))
    ordered = Samples.of(profile.replace_tables(resources=table))
    assert ordered.is_ordered
    assert [list(track.rows) for track in ordered.tracks()] == [[0, 2, 1]]


def test_samples_of_one_stack_in_a_row_become_one() -> None:
    samples = recorder()
    first, second = (samples.stacks.add([Frame(name)]) for name in "ab")
    for time, stack in enumerate((first, first, second, first)):
        samples.add(stack, (1,), time=time)
    table = made(samples).tables["resources"]
    assert [list(table[name]) for name in ("stack", "time", "samples")] == [[0, 1, 0], [0, 2, 3], [2, 1, 1]]


def test_a_time_that_lacks_leaves_no_order() -> None:
    samples = recorder()
    for time in (1.0, None):
        samples.add(samples.stacks.add([Frame(str(time))]), (1,), time=time)
    assert Samples.of(made(samples)).time is None


def test_threads_are_tracks_in_the_order_of_time() -> None:
    samples = recorder()
    stack = samples.stacks.add([Frame("a")])
    for time, thread in ((30, "x"), (10, "y"), (20, "x")):
        samples.add(stack, (1,), time=time, thread=thread, process="p")
    columns = Samples.of(made(samples))
    assert [(track.process, track.thread, list(track.rows)) for track in columns.tracks()] == [
        ("p", "x", [2, 0]),
        ("p", "y", [1]),
    ]


@pytest.mark.parametrize("amount", [float("nan"), float("inf"), 10**400])
def test_amounts_that_are_no_stored_number_are_refused(amount: float) -> None:
    samples = recorder()
    with pytest.raises(FormatError, match="larger than numbers are stored"):
        samples.add(samples.stacks.add([Frame("a")]), (amount,))


def test_nothing_is_no_profile() -> None:
    with pytest.raises(FormatError, match="no samples"):
        made(recorder())
    with pytest.raises(NotFoundError, match="no call stacks"):
        Samples.of(profiles.timed())


def test_a_file_is_unzipped_within_bounds(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(b"first ") + gzip.compress(b"second"))
    assert contents(path) == b"first second"
    assert start_of(path.read_bytes()) == b"first "
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(FormatError, match="middle"):
        contents(path)
    path.write_bytes(gzip.compress(bytes(1 << 20)))
    with pytest.raises(FormatError, match="unzips to more than"):
        contents(path, largest=1 << 19)
