"""Versions measured in place whose rules of what is ignored differ: nobody's files are lost, nothing is left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from perfcore_vcs_tagit import Tagit

from perfcore.errors import VersionError

if TYPE_CHECKING:
    from perfcore_vcs_tagit.contract import TagitScript

    from .conftest import Snapshot


@pytest.fixture
def ids(script: TagitScript) -> list[str]:
    """Two versions with a file that the third one ignores."""
    found = [
        script.version("one", {"build/x": b"1", "a": b"1"}),
        script.version("two", {"build/x": b"2", "build/y": b"2", ".tagitignore": b"*.tmp\n"}),
        script.version("three", {".tagitignore": b"build/\n*.log\n"}),
    ]
    for name in ("x", "y"):
        (script.root / "build" / name).unlink()
    return found


def test_what_versions_bring_is_taken_away_again(
    script: TagitScript, driver: Tagit, ids: list[str], snapshot: Snapshot
) -> None:
    script.write({"a": b"mine", "build/mine": b"1", "my.log": b"1", "kept.tmp": b"1"})
    before = snapshot(script.root)
    state = driver.save_state()
    for number in (0, 1, 0, 2, 1):
        driver.checkout(ids[number])
        assert not driver.is_dirty()
        assert (script.root / "build/mine").is_file()
        assert (script.root / "build/y").exists() == (number == 1)
        script.write({"made.tmp": b"by the program", "a": b"changed by it", "made.log": b"1"})
    driver.restore_state(state)
    after = dict(snapshot(script.root))
    assert after.pop(b"made.log")[0] == "file", "the user ignores it, so it stays"
    assert after == before


def test_an_ignored_file_in_the_way_is_not_overwritten(
    script: TagitScript, driver: Tagit, ids: list[str], snapshot: Snapshot
) -> None:
    script.write({"build/x": b"precious", "a": b"mine"})
    before = snapshot(script.root)
    state = driver.save_state()
    with pytest.raises(VersionError, match="build/x"):
        driver.checkout(ids[0])
    assert (script.root / "build/x").read_bytes() == b"precious"
    driver.checkout(ids[2])
    driver.restore_state(state)
    assert snapshot(script.root) == before


def test_a_change_of_what_is_ignored_is_put_back(
    script: TagitScript, driver: Tagit, ids: list[str], snapshot: Snapshot
) -> None:
    script.write({".tagitignore": b"", "build/x": b"mine now", "x.log": b"mine"})
    before = snapshot(script.root)
    state = driver.save_state()
    assert {path.name for path in script.root.iterdir()} == {".tagit", ".tagitignore", "a"}
    for id in ids:
        driver.checkout(id)
        assert not driver.is_dirty() or id == ids[2]
    driver.restore_state(state)
    assert snapshot(script.root) == before
