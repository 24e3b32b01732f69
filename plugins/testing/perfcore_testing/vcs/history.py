"""Finding a repository, its versions and its branches."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from perfcore.errors import VersionError
from perfcore_testing.hostile import NAMES, unsafe
from perfcore_testing.kinds import misfits
from perfcore_testing.vcs.base import VcsLaws
from perfcore_testing.vcs.script import Script, content

if TYPE_CHECKING:
    from perfcore.hookspecs import Vcs

NO_VERSIONS: tuple[str, ...] = (
    "",
    " ",
    "-",
    "--all",
    "--output=pwned",
    "-n1",
    "\n",
    "\0",
    "..",
    "a..b",
    "no such version",
    "nosuchversion~2",
    "../../etc/passwd",
    "0" * 40,
    "f" * 64,
    "$(touch pwned)",
    *NAMES,
)
MESSAGES = ("<b>it</b> & 'that' \"too\"", "ž 日本語 🚀", "\x1b[31mred", "-x --all", "%H%n%x00 \\n")


class HistoryLaws(VcsLaws):
    """Finding a repository, its versions and its branches."""

    # --- the class, and finding a repository

    def test_fits_the_specification(self, driver: Vcs) -> None:
        assert misfits("vcs", driver) == []

    def test_flags_tell_the_truth(self, driver: Vcs) -> None:
        assert hasattr(driver, "worktree") == hasattr(driver, "remove_worktree") == self.has_worktree
        assert hasattr(driver, "install_trigger") == self.has_trigger
        assert self.has_state or hasattr(driver, "export"), "nothing gives the files of a version"

    def test_detect_finds_the_root_from_anywhere_inside(self, driver: Vcs, script: Script) -> None:
        script.version("one", {"deep/er/file": b"x"})
        for path in (script.root, script.root / "deep", script.root / "deep/er", script.root / "deep/er/file"):
            found = type(driver).detect(path)
            assert found is not None
            assert found.samefile(script.root), path

    def test_detect_finds_an_empty_repository(self, driver: Vcs, script: Script) -> None:
        found = type(driver).detect(script.root)
        assert found is not None
        assert found.samefile(script.root)

    def test_detect_finds_nothing_outside(self, driver: Vcs, elsewhere: Path) -> None:
        assert type(driver).detect(elsewhere) is None
        assert type(driver).detect(elsewhere / "not there") is None

    def test_home_is_the_working_tree_that_is_linked_to_no_other(self, complete: Vcs, script: Script) -> None:
        assert complete.home().samefile(script.root)

    def test_init_makes_an_empty_repository(self, opened: Callable[[Path], Vcs], elsewhere: Path) -> None:
        driver = opened(elsewhere)
        driver.init()
        found = type(driver).detect(elsewhere)
        assert found is not None
        assert found.samefile(elsewhere)
        self._assert_empty(opened(elsewhere))

    def test_an_empty_repository_has_no_head(self, driver: Vcs) -> None:
        self._assert_empty(driver)

    def test_init_never_loses_a_history(self, driver: Vcs, script: Script) -> None:
        (head,) = script.grow(1)
        with pytest.raises(VersionError):
            driver.init()
        assert driver.get_minor_head() == head

    def _assert_empty(self, driver: Vcs) -> None:
        with pytest.raises(VersionError):
            driver.get_minor_head()
        assert driver.get_head_major_version().head is None
        assert list(driver.walk_major_versions()) == []
        assert not driver.is_dirty()
        assert not hasattr(driver, "saved_state") or driver.saved_state() is None
        with pytest.raises(VersionError):
            driver.massage_parameter("nothing")

    # --- history

    def test_walk_gives_all_versions_newest_first(self, driver: Vcs, script: Script) -> None:
        ids = script.grow(7)
        walked = list(driver.walk_minor_versions(ids[-1]))
        assert [version.id for version in walked] == ids[::-1]
        assert [version.parents for version in walked] == [(parent,) for parent in ids[-2::-1]] + [()]

    def test_walk_begins_at_any_version(self, driver: Vcs, script: Script) -> None:
        ids = script.grow(4)
        assert [version.id for version in driver.walk_minor_versions(ids[1])] == [ids[1], ids[0]]

    def test_the_newest_few_are_those_of_the_walk(self, driver: Vcs, script: Script) -> None:
        ids = script.grow(5)
        if not hasattr(driver, "newest_minor_versions"):
            pytest.skip("no listing of a few")
        for count in (0, 2, 9):
            assert [version.id for version in driver.newest_minor_versions(ids[3], count)] == ids[3::-1][:count]

    def test_walk_can_be_given_up(self, driver: Vcs, script: Script) -> None:
        ids = script.grow(3)
        walk = driver.walk_minor_versions(ids[-1])
        assert next(walk).id == ids[-1]
        walk.close()  # type: ignore[attr-defined]
        assert len(list(driver.walk_minor_versions(ids[-1]))) == 3

    def test_two_walks_do_not_disturb_each_other(self, driver: Vcs, script: Script) -> None:
        ids = script.grow(3)
        pairs = list(zip(driver.walk_minor_versions(ids[-1]), driver.walk_minor_versions(ids[-1]), strict=True))
        assert [(a.id, b.id) for a, b in pairs] == [(id, id) for id in ids[::-1]]

    def test_a_walked_version_is_what_is_known_of_it(self, driver: Vcs, script: Script) -> None:
        ids = script.grow(3)
        for version in driver.walk_minor_versions(ids[-1]):
            assert driver.get_minor_version_info(version.id) == version
            assert version.date > 0

    def test_walk_shows_every_version_before_its_parents(self, driver: Vcs, script: Script) -> None:
        if not self.has_merges:
            pytest.skip("no merges")
        first, *_ = script.grow(2)
        trunk = driver.get_head_major_version().name
        for name in ("left", "right"):
            script.switch(trunk)
            script.branch(name)
            script.version(name, {name: b"1"})
            script.version(name, {name: b"2"})
        head = script.merge("left")
        walked = list(driver.walk_minor_versions(head))
        places = {version.id: place for place, version in enumerate(walked)}
        assert len(places) == len(walked) == 7
        assert (walked[0].id, walked[-1].id) == (head, first)
        assert len(walked[0].parents) == 2
        for version in walked:
            assert all(places[parent] > places[version.id] for parent in version.parents)

    def test_walk_leaves_out_what_is_no_ancestor(self, driver: Vcs, script: Script) -> None:
        if not self.has_branches:
            pytest.skip("one line only")
        base, *_ = script.grow(1)
        trunk = driver.get_head_major_version().name
        script.branch("side")
        side = script.version("side", {"side": b"1"})
        script.switch(trunk)
        main = script.version("main", {"main": b"1"})
        assert [v.id for v in driver.walk_minor_versions(main)] == [main, base]
        assert [v.id for v in driver.walk_minor_versions(side)] == [side, base]

    @pytest.mark.parametrize("message", MESSAGES, ids=ascii)
    def test_subject_is_the_first_line_as_it_is(self, driver: Vcs, script: Script, message: str) -> None:
        if not self.has_messages:
            pytest.skip("versions have no messages")
        script.write({"a": b"1"})
        id = script.commit(message + "\n\nAnd why.\n")
        assert driver.get_minor_version_info(id).subject == message
        assert next(driver.walk_minor_versions(id)).subject == message

    # --- lines, and what is checked out

    def test_head_follows_the_user(self, driver: Vcs, script: Script) -> None:
        for number in range(3):
            id = script.version(str(number), {"number": b"%d" % number})
            assert driver.get_minor_head() == id
            assert driver.get_head_major_version().head == id

    def test_the_line_that_is_checked_out_is_listed(self, driver: Vcs, script: Script) -> None:
        (id,) = script.grow(1)
        line = driver.get_head_major_version()
        assert line.name
        assert [(m.name, m.head) for m in driver.walk_major_versions()] == [(line.name, id)]
        assert driver.massage_parameter(line.name) == id

    def test_lines_are_sorted_by_name(self, driver: Vcs, script: Script) -> None:
        if not self.has_branches:
            pytest.skip("one line only")
        (base,) = script.grow(1)
        trunk = driver.get_head_major_version().name
        heads = {trunk: base}
        for name in ("zeta", "alpha", "alpha-2", "Upper"):
            script.switch(trunk)
            script.branch(name)
            heads[name] = script.version(name, {"file": name.encode()})
            assert (driver.get_head_major_version().name, driver.get_minor_head()) == (name, heads[name])
        assert [(m.name, m.head) for m in driver.walk_major_versions()] == sorted(heads.items())

    # --- what people write for a version

    def test_a_full_id_and_a_short_one_are_massaged_to_the_full_one(self, driver: Vcs, script: Script) -> None:
        for id in script.grow(3):
            assert driver.massage_parameter(id) == id
            assert driver.massage_parameter(id[:12]) == id

    def test_validity_is_of_full_ids(self, driver: Vcs, script: Script) -> None:
        (id,) = script.grow(1)
        driver.check_minor_version_validity(id)
        for wrong in (id[:-1], id[:12], id + "0", id.upper() + "\n", " " + id, id + "\n"):
            with pytest.raises(VersionError):
                driver.check_minor_version_validity(wrong)

    @pytest.mark.parametrize("text", NO_VERSIONS, ids=lambda text: ascii(text)[:30])
    def test_what_is_no_version_is_refused_in_clean_words(self, driver: Vcs, script: Script, text: str) -> None:
        script.grow(1)
        before = content(script.root, self.private)
        for ask in (driver.massage_parameter, driver.check_minor_version_validity, driver.get_minor_version_info):
            with pytest.raises(VersionError) as caught:
                ask(text)
            assert unsafe(caught.value.message + (caught.value.hint or "")) == set()
        with pytest.raises(VersionError):
            list(driver.walk_minor_versions(text))
        assert content(script.root, self.private) == before
