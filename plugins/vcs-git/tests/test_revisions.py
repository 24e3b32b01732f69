"""What people write for a version means one version, or is refused with a reason and a way on."""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from perfcore.errors import PerfError, VersionError

if TYPE_CHECKING:
    from perfcore_vcs_git import Git
    from perfcore_vcs_git.contract import GitScript


def refusal(driver: Git, text: str) -> str:
    """Why a revision is refused, with the hint."""
    with pytest.raises(VersionError) as caught:
        driver.massage_parameter(text)
    return f"{caught.value.message} | {caught.value.hint}"


def test_all_that_git_takes_for_one_commit(driver: Git, script: GitScript) -> None:
    ids = script.grow(4)
    script.git("tag", "light", "HEAD~1")
    script.git("tag", "-a", "-m", "x", "annotated", "HEAD~2")
    script.git("tag", "-a", "-m", "x", "tag of a tag", "annotated", code=128)
    script.git("tag", "-a", "-m", "x", "nested", "annotated")
    script.branch("feature/žluť 'x'".replace(" ", "-"))
    script.switch("main")
    script.git("update-ref", "refs/remotes/origin/main", ids[0])
    script.git("update-ref", "refs/heads/-option", ids[1])
    for text, number in {
        "HEAD": 3,
        "@": 3,
        "main": 3,
        "heads/main": 3,
        "refs/heads/main": 3,
        "main~2": 1,
        "main^^": 1,
        "HEAD~0": 3,
        "light": 2,
        "annotated": 1,
        "nested": 1,
        "annotated^0": 1,
        "annotated~1": 0,
        "feature/žluť-'x'": 3,
        "origin/main": 0,
        "-option": 1,
        "@{-1}": 3,
        "main@{0}": 3,
        ":/Version 1": 1,
        "HEAD^{/Version 2}": 2,
        "light-1-g" + ids[3][:9]: 3,
        ids[2][:7].upper(): 2,
    }.items():
        assert driver.massage_parameter(text) == ids[number], text


def test_a_tag_and_a_branch_of_one_name_are_told_apart(driver: Git, script: GitScript) -> None:
    old, new = script.grow(2)
    script.git("branch", "twin", new)
    script.git("tag", "-a", "-m", "x", "twin", old)
    told = refusal(driver, "twin")
    assert told.startswith(f"'twin' is ambiguous: refs/tags/twin ({old[:10]}) and refs/heads/twin ({new[:10]})")
    assert "write refs/tags/twin or refs/heads/twin" in told
    assert "write refs/tags/twin~0 or refs/heads/twin~0" in refusal(driver, "twin~0")
    assert driver.massage_parameter("refs/tags/twin") == driver.massage_parameter("tags/twin") == old
    assert driver.massage_parameter("heads/twin") == new


def test_names_that_mean_the_same_version_are_not_ambiguous(driver: Git, script: GitScript) -> None:
    (id,) = script.grow(1)
    script.git("branch", "twin")
    script.git("tag", "twin")
    script.git("update-ref", "refs/remotes/twin", id)
    assert driver.massage_parameter("twin") == id


def test_an_ambiguous_short_id_lists_what_it_may_be(driver: Git, script: GitScript) -> None:
    stream = b"".join(
        b"commit refs/heads/main\ncommitter A <a@b> %d +0000\ndata %d\nCommit %d\n\n" % (n, len(b"Commit %d" % n), n)
        for n in range(1, 1500)
    )
    script.git("fast-import", "--quiet", stdin=stream)
    ids = sorted(script.git("rev-list", "main").split())
    a, b = next((a, b) for a, b in pairwise(ids) if a[:4] == b[:4])
    for text in (a[:4], a[:4] + "~0"):
        told = refusal(driver, text)
        assert told.startswith(f"'{text}' is ambiguous")
        for id in (a, b):
            assert f"{id[:10]} (Commit " in told
    assert driver.massage_parameter(a[:12]) == a


def test_a_branch_that_looks_like_a_short_id_is_the_branch(driver: Git, script: GitScript) -> None:
    old, new = script.grow(2)
    script.git("branch", old[:8], new)
    assert driver.massage_parameter(old[:8]) == new == script.git("rev-parse", old[:8])


def test_a_branch_called_like_another_version_does_not_hide_it(driver: Git, script: GitScript) -> None:
    old, new = script.grow(2)
    script.git("update-ref", f"refs/heads/{old}", new)
    script.git("update-ref", "refs/heads/HEAD", old)
    assert driver.massage_parameter(old) == old
    assert driver.massage_parameter("HEAD") == new


@pytest.mark.parametrize("text", ["main..HEAD", "main...HEAD", "^main", "main^@", "main^!", "main^-", "main^-1", ".."])
def test_ranges_are_refused(driver: Git, script: GitScript, text: str) -> None:
    script.grow(2)
    assert "names several versions; name one" in refusal(driver, text)


def test_files_folders_and_what_tags_point_to_are_no_versions(driver: Git, script: GitScript) -> None:
    script.version("one", {"folder/file": b"1"})
    blob, tree = script.git("rev-parse", "HEAD:folder/file"), script.git("rev-parse", "HEAD:folder")
    script.git("tag", "-a", "-m", "x", "of-a-file", blob)
    script.git("tag", "of-a-folder", tree)
    for text in ("HEAD:folder/file", blob, blob[:9], ":folder/file"):
        assert "names a file, not a version" in refusal(driver, text)
    for text in ("HEAD:folder", "HEAD^{tree}", tree, "of-a-folder"):
        assert "names a folder, not a version" in refusal(driver, text)
    assert "'of-a-file' names a file, not a version" in refusal(driver, "of-a-file")


def test_only_commits_are_valid(driver: Git, script: GitScript) -> None:
    (id,) = script.grow(1)
    script.git("tag", "-a", "-m", "x", "annotated")
    for name, kind in {"annotated": "a tag", "HEAD^{tree}": "a folder", "HEAD:number": "a file"}.items():
        object = script.git("rev-parse", name)
        with pytest.raises(VersionError, match=f"names {kind}"):
            driver.check_minor_version_validity(object)
    driver.check_minor_version_validity(id)


def test_a_mistyped_name_is_told_its_nearest(driver: Git, script: GitScript) -> None:
    script.grow(1)
    script.branch("feature/parser")
    script.git("tag", "v1.2.3")
    assert "did you mean 'feature/parser'?" in refusal(driver, "feature/praser")
    assert "did you mean 'v1.2.3'?" in refusal(driver, "1.2.3")
    assert "did you mean" not in refusal(driver, "something else altogether")


def test_before_the_first_version_is_said_to_be_so(driver: Git, script: GitScript) -> None:
    script.grow(3)
    assert "'HEAD~3' names no version, though 'HEAD' does" in refusal(driver, "HEAD~3")
    assert "'main^2' names no version, though 'main' does" in refusal(driver, "main^2")


def test_nothing_written_for_a_version_is_taken_for_an_option(driver: Git, script: GitScript) -> None:
    script.grow(1)
    for text in ("--output=pwned", "--upload-pack=touch pwned", "-c core.pager=touch pwned", "--help", "--batch-check"):
        refusal(driver, text)
    assert sorted(path.name for path in script.root.iterdir()) == [".git", "number"]


def test_a_question_about_the_reflog_that_git_dies_of_does_not_stop_the_next(driver: Git, script: GitScript) -> None:
    (id,) = script.grow(1)
    for text in ("main@{99}", "HEAD:../outside", "main@{u}", "@{-5}"):
        with pytest.raises(PerfError):
            driver.massage_parameter(text)
        assert driver.massage_parameter("HEAD") == id


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="file names are Unicode here")
def test_a_branch_whose_name_is_no_unicode(driver: Git, script: GitScript) -> None:
    (id,) = script.grow(1)
    (script.root / ".git/packed-refs").write_bytes(f"{id} refs/heads/caf".encode() + b"\xe9\n")
    (name,) = {line.name for line in driver.walk_major_versions()} - {"main"}
    assert name == "caf\udce9"
    assert driver.massage_parameter(name) == id
    script.git("symbolic-ref", "HEAD", "refs/heads/caf\udce9")
    assert driver.get_head_major_version().name == name
    assert driver.get_minor_head() == id
    assert "caf\\udce9" in refusal(driver, "caf")
