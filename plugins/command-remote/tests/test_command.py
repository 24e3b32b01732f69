"""`perf remote`, `perf push` and `perf pull` in two clones and a folder that both reach."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from perfcore_storage_local import LocalStorage
from perfcore_testing import profiles
from perfcore_testing.project import Project

from perfcore.library import open_repository
from perfcore.model import Header
from perfcore.model.record import replace
from perfcore.store import index as indexes
from perfcore.store import notes

SCHEMA = Path(__file__).parents[3] / "docs" / "schemas" / "transfer.json"


def register(project: Project, wall: int) -> str:
    history = open_repository(project.path)
    made = replace(profiles.timed(3, wall), origin=history.version(), created=wall)
    return history.register(history.save(made)).profile


@pytest.fixture
def cloned(project: Project, tmp_path: Path) -> Project:
    """Another clone, with the remote `origin` of git."""
    project.git("clone", "--quiet", str(project.path), str(tmp_path / "other"))
    clone = Project(tmp_path / "other", project.home)
    clone.perf("init")
    return clone


@pytest.fixture
def other(cloned: Project) -> Project:
    """Another clone, without remotes."""
    cloned.git("remote", "remove", "origin")
    return cloned


def test_a_remote_that_cannot_be_trusted_is_not_kept(cloned: Project, tmp_path: Path) -> None:
    """Or its file would be in the way of every transfer, also of one from git's own remote."""
    unwritable = tmp_path / "data"
    unwritable.symlink_to(tmp_path / "nowhere")
    before = (cloned.path / ".perf" / "local.yml").read_bytes()
    read_only_home = {"XDG_DATA_HOME": str(unwritable)}
    failed = cloned.perf("remote", "add", "new", str(tmp_path / "new"), code=4, env=read_only_home).err
    assert "cannot write" in failed
    assert "XDG_DATA_HOME" in failed
    assert (cloned.path / ".perf" / "local.yml").read_bytes() == before
    cloned.perf("pull", env=read_only_home)


def test_profiles_and_tags_travel(project: Project, other: Project, tmp_path: Path) -> None:
    register(project, 100)
    project.perf("tag", "release", "0@i")
    for clone in (project, other):
        clone.perf("remote", "add", "shared", str(tmp_path / "shared"))
    pushed = project.perf("push")
    assert "pushed 1 profile of 1 version to shared (1 object, " in pushed.err
    assert "nothing to be pushed to shared: nothing here is missing there" in project.perf("push", "shared").err
    assert "pulled 1 profile of 1 version from shared" in other.perf("pull").err
    assert "wall 100 ns" in other.perf("show", "--one-line", "release").out
    second = register(other, 200)
    other.perf("push")
    project.perf("fetch")
    assert second[:10] in project.perf("log").out
    for clone in (project, other):
        clone.perf("fsck")


def test_a_dry_run_lists_what_would_be_sent_and_sends_nothing(project: Project, tmp_path: Path) -> None:
    register(project, 100)
    project.perf("remote", "add", "shared", str(tmp_path / "shared"))
    done = project.perf("push", "--dry-run")
    assert "would have pushed 1 profile of 1 version" in done.err
    assert not (tmp_path / "shared" / "objects").exists()


def test_the_document_follows_its_schema(project: Project, tmp_path: Path) -> None:
    profile = register(project, 100)
    project.perf("remote", "add", "shared", str(tmp_path / "shared"))
    document = project.perf("push", "--json").json
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(document)
    assert [row["profile"] for row in document["profiles"]] == [profile]
    assert document["profiles"][0]["version"] == project.git("rev-parse", "HEAD").out.strip()


def test_only_the_versions_that_are_named_are_brought(project: Project, tmp_path: Path) -> None:
    register(project, 100)
    project.commit("Second")
    register(project, 200)
    project.perf("remote", "add", "shared", str(tmp_path / "shared"))
    assert "1 profile of 1 version" in project.perf("push", "shared", "HEAD~1..HEAD").err
    assert "1 profile of 1 version" in project.perf("push", "shared", "--last", "5").err


@pytest.mark.parametrize("verb", ["push", "pull", "fetch"])
@pytest.mark.parametrize("words", [["v1..HEAD"], ["HEAD"], ["HEAD~1..HEAD", "main"], ["..HEAD"]])
def test_versions_in_the_place_of_the_remote_are_told_so(
    project: Project, tmp_path: Path, verb: str, words: list[str]
) -> None:
    project.perf("remote", "add", "shared", str(tmp_path / "shared"))
    done = project.perf(verb, *words, code=2)
    assert f"{words[0]} names versions, and no remote" in done.err
    assert f"perf {verb} shared {' '.join(words)}" in done.err


def test_a_remote_with_the_name_of_a_version_is_one(project: Project, tmp_path: Path) -> None:
    project.perf("remote", "add", "main", str(tmp_path / "shared"))
    assert "nothing here is missing there" in project.perf("push", "main").err


def test_remotes_are_listed_with_those_of_git_and_removed(project: Project, cloned: Project, tmp_path: Path) -> None:
    assert "there are no remotes" in project.perf("remote").err
    cloned.perf("remote", "add", "shared", "https://me:secret@example.org/x.git")
    rows = cloned.perf("remote").lines
    assert rows[0].split() == ["shared", "https://me:***@example.org/x.git"]
    assert rows[1].split() == ["origin", str(project.path), "(of", "git)"]
    assert "secret" not in cloned.perf("remote", "--json").out
    assert cloned.perf("remote", "-v").lines == rows  # as users of git write
    assert "already" in cloned.perf("remote", "add", "shared", "elsewhere", code=2).err
    cloned.perf("remote", "rm", "shared")
    assert "there is no remote" in cloned.perf("remote", "remove", "shared", code=3).err


@pytest.mark.parametrize("name", ["", "-x", "a/b", "a b", "..", "x" * 101])
def test_a_bad_name_is_refused(project: Project, name: str) -> None:
    assert "is no name of a remote" in project.perf("remote", "add", "--", name, "/tmp/x", code=2).err


@pytest.mark.parametrize("url", ["", "--upload-pack=touch x", "a\nb"])
def test_a_bad_url_is_refused(project: Project, url: str) -> None:
    assert "is no URL" in project.perf("remote", "add", "--", "shared", url, code=2).err


@pytest.mark.parametrize("url", ["s3:/bucket/folder", "GS:bucket", "az:"])
def test_the_url_of_a_bucket_without_its_slashes_is_refused(project: Project, url: str) -> None:
    done = project.perf("remote", "add", "shared", url, code=2)
    assert f"{url[:2].lower()}://BUCKET/FOLDER" in done.err
    assert "shared" not in project.perf("remote").out


def test_an_unknown_remote_is_an_error_with_a_way_on(project: Project) -> None:
    assert "perf remote add origin URL" in project.perf("push", code=3).err


def test_the_repository_itself_is_no_remote(project: Project) -> None:
    project.perf("remote", "add", "self", ".")
    assert "this repository itself" in project.perf("push", "self", code=4).err


def test_remotes_that_somebody_else_wrote_are_not_used(project: Project) -> None:
    project.write(".perfcore.yml", "remotes: {origin: 'ext::touch pwned'}\n")
    assert "trust" in project.perf("push", code=None).err
    assert not (project.path / "pwned").exists()


def test_what_a_damaged_store_sends_is_named_and_the_command_fails(project: Project, other: Project) -> None:
    profile = register(project, 100)
    path = project.path / ".perf" / "objects" / profile[:2] / profile[2:]
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-4])
    other.perf("remote", "add", "shared", str(project.path))
    done = other.perf("pull", code=None)
    assert done.code not in (0, None)
    assert profile in done.err
    assert other.perf("log", "--json").json["profiles"] == []


def test_the_library_pushes_and_pulls(
    project: Project, other: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.use_home(monkeypatch)
    profile = register(project, 100)
    for clone in (project, other):
        clone.perf("remote", "add", "shared", str(tmp_path / "shared"))
    assert len(open_repository(project.path).command("push").profiles) == 1
    (row,) = open_repository(other.path).command("pull", remote="shared").profiles
    assert row[1].profile == profile


def test_a_git_repository_without_its_storage_is_an_error_with_a_way_on(project: Project) -> None:
    project.perf("remote", "add", "hub", "https://example.org/x.git")
    done = project.perf("push", env={"PERF_DISABLED_PLUGINS": "storage:git"}, code=5)
    assert "takes a storage called git" in done.err
    assert "perf remote add NAME PATH" in done.err


def test_another_clone_on_the_same_disk_is_a_remote_by_its_name_in_git(project: Project, cloned: Project) -> None:
    register(cloned, 100)
    assert "pushed 1 profile of 1 version to origin" in cloned.perf("push").err
    assert "100 ns" in project.perf("show", "--one-line", "0@i").out


def bare_origin(project: Project, path: Path) -> Path:
    """A bare repository that is the project's `origin`, pushed to once."""
    project.git("init", "--quiet", "--bare", str(path))
    project.git("remote", "add", "origin", str(path))
    register(project, 100)
    project.perf("push")
    return path


def test_a_remote_of_git_whose_path_vanished_is_an_error_and_no_new_folder(project: Project, tmp_path: Path) -> None:
    origin = bare_origin(project, tmp_path / "origin.git")
    origin.rename(tmp_path / "elsewhere.git")
    for verb in ("push", "pull"):
        assert "git cannot reach" in project.perf(verb, code=None).err
    assert not origin.exists()
    origin.mkdir()  # as a mount point without its share
    assert "git cannot reach" in project.perf("push", code=None).err
    assert list(origin.iterdir()) == []
    origin.rmdir()
    (tmp_path / "elsewhere.git").rename(origin)
    assert "nothing here is missing there" in project.perf("push").err


@pytest.mark.parametrize("kind", ["folder", "git"])
@pytest.mark.parametrize("left", [True, False])
def test_a_path_that_lost_its_store_is_an_error_until_a_new_one_is_asked_for(
    project: Project, tmp_path: Path, kind: str, left: bool
) -> None:
    shared = tmp_path / "shared"
    if kind == "git":
        project.git("init", "--quiet", "--bare", str(shared))
    else:
        shared.mkdir()
    register(project, 100)
    project.perf("remote", "add", "shared", str(shared))
    project.perf("pull")
    project.perf("push")
    shared.rename(tmp_path / "elsewhere")
    if left:  # as a mount point without its share
        shared.mkdir()
    for words in (("push",), ("push", "--dry-run"), ("pull",), ("pull", "--full"), ("remote", "gc")):
        done = project.perf(*words, code=None)
        assert done.code != 0
        assert f"there is no store at {shared} any more" in done.err
    assert shared.exists() == left
    assert not left or list(shared.iterdir()) == []
    assert "pushed 1 profile" in project.perf("push", "--full").err
    assert "nothing there is missing here" in project.perf("pull").err


@pytest.mark.parametrize("kind", ["folder", "git"])
@pytest.mark.parametrize("damage", [None, "junk\n"])
def test_a_full_pull_mends_profiles_and_notes_and_fsck_names_it(
    project: Project, tmp_path: Path, kind: str, damage: str | None
) -> None:
    profile = register(project, 100)
    repository = open_repository(project.path).repository
    note = notes.add(repository.store, "check", "check", b"{}")
    shared = tmp_path / "shared"
    if kind == "git":
        project.git("init", "--quiet", "--bare", str(shared))
    assert "pull" not in project.perf("fsck").err
    project.perf("remote", "add", "shared", str(shared))
    project.perf("push")
    for id in (profile, note):
        path = project.path / ".perf" / "objects" / id[:2] / id[2:]
        path.unlink()
        if damage:
            path.write_text(damage)
    assert "perf pull --full" in project.perf("fsck", code=4).err
    assert "2 objects" in project.perf("pull", "--full").err
    project.perf("fsck")
    assert "nothing there is missing here" in project.perf("pull", "--full").err


@pytest.mark.parametrize("kind", ["folder", "git"])
def test_a_full_pull_makes_a_damaged_index_anew_as_fsck_says(project: Project, tmp_path: Path, kind: str) -> None:
    profile = register(project, 100)
    shared = tmp_path / "shared"
    if kind == "git":
        project.git("init", "--quiet", "--bare", str(shared))
    project.perf("remote", "add", "shared", str(shared))
    project.perf("push")
    head = project.git("rev-parse", "HEAD").out.strip()
    path = project.path / ".perf" / "objects" / head[:2] / head[2:]
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-3])
    assert "perf pull --full" in project.perf("fsck", code=4).err
    assert "`perf pull --full` mends what is damaged here" in project.perf("pull", code=4).err
    assert f"the damaged index of {head[:10]} is made anew" in project.perf("pull", "--full").err
    project.perf("fsck")
    assert profile[:10] in project.perf("status").out


@pytest.mark.parametrize("kept", [100, -30])
def test_a_damaged_pack_is_moved_away_and_its_profiles_are_pulled_again_as_fsck_says(
    project: Project, tmp_path: Path, kept: int
) -> None:
    profile = register(project, 100)
    project.perf("remote", "add", "shared", str(tmp_path / "shared"))
    project.perf("push")
    storage = open_repository(project.path).repository.store.storage
    assert isinstance(storage, LocalStorage)
    storage.pack("objects/", least=1)
    (pack,) = (project.path / ".perf" / "packs" / "objects").glob("*.pack")
    pack.write_bytes(pack.read_bytes()[:kept])
    assert "move it away: then `perf pull --full`" in project.perf("fsck", code=4).out
    assert "move it away: then `perf pull --full`" in project.perf("pull", "--full", code=4).err
    pack.rename(tmp_path / pack.name)
    project.perf("pull", "--full")
    project.perf("fsck")
    assert profile[:10] in project.perf("status").out


def shared_index(project: Project, other: Project, place: Path) -> Path:
    """The index of the head at a remote that both clones have, and to which one pushed a profile."""
    register(project, 100)
    for clone in (project, other):
        clone.perf("remote", "add", "shared", str(place))
    project.perf("push")
    head = project.git("rev-parse", "HEAD").out.strip()
    path = place / "objects" / head[:2] / head[2:]
    path.chmod(0o644)
    return path


def test_a_full_push_makes_a_damaged_index_of_the_remote_anew(project: Project, other: Project, tmp_path: Path) -> None:
    shared_index(project, other, tmp_path / "shared").write_bytes(b"")
    assert "perf push --full" in other.perf("pull", code=4).err
    project.perf("push", "--full")
    other.perf("pull")
    other.perf("fsck")


def test_a_remote_gc_that_fails_puts_no_expiry_into_force(project: Project, other: Project, tmp_path: Path) -> None:
    path = shared_index(project, other, tmp_path / "shared")
    path.write_bytes(path.read_bytes()[:-3])
    project.perf("remote", "gc", "shared", "--expire", "0s", "--alone", code=4)
    assert not (tmp_path / "shared" / "retention" / "expired").exists()
    project.perf("push", "--full")
    other.perf("pull")
    assert "1 profile" in other.perf("log", "--count-only").out


def test_a_full_push_mends_what_the_remote_holds_damaged(project: Project, other: Project, tmp_path: Path) -> None:
    profile = register(project, 100)
    for clone in (project, other):
        clone.perf("remote", "add", "shared", str(tmp_path / "shared"))
    project.perf("push")
    path = tmp_path / "shared" / "objects" / profile[:2] / profile[2:]
    path.unlink()
    path.write_text("junk\n")
    refused = other.perf("pull", code=4).err
    assert "perf push --full" in refused
    assert "nothing here is missing there" not in refused
    assert "pushed parts of profiles" in project.perf("push", "--full").err
    other.perf("pull")
    other.perf("fsck")


RULES = """\
sharing:
  omit: [host]
  replace: {"/home/[a-z]+": "~"}
"""


def measured(project: Project, wall: int = 100) -> str:
    """A profile of a command in somebody's home."""
    history = open_repository(project.path)
    header = Header(type="time", argv=("/home/alice/bench",), cmd="/home/alice/bench", units={"wall": "ns"})
    machine = {"host": "lab3", "cpus": 2}
    made = replace(profiles.timed(3, wall), header=header, machine=machine, origin=history.version())
    return history.register(history.save(made)).profile


def test_the_first_push_lists_what_leaves_and_the_next_does_not(project: Project, tmp_path: Path) -> None:
    measured(project)
    project.perf("remote", "add", "shared", str(tmp_path / "shared"))
    for told in (project.perf("push", "--dry-run").err, project.perf("push").err):
        rows = dict(line.split(maxsplit=1) for line in told.splitlines() if line.startswith("  "))
        assert rows == {"hosts": "lab3", "commands": "/home/alice/bench", "folders": "/home/alice"}
    measured(project)
    assert "lab3" not in project.perf("push").err


def test_a_fact_to_be_left_out_that_no_profile_has_is_told(project: Project, tmp_path: Path) -> None:
    measured(project)
    project.write(".perfcore.yml", "sharing: {omit: [hostname, cpus]}\n")
    project.perf("remote", "add", "shared", str(tmp_path / "shared"))
    told = project.perf("push", "--dry-run").err
    assert "sharing.omit: none of them has the fact 'hostname', but cpus, host" in told
    assert "'cpus'" not in told


def test_rules_leave_out_and_replace_and_what_comes_back_is_not_doubled(
    project: Project, other: Project, tmp_path: Path
) -> None:
    profile = measured(project)
    project.perf("tag", "release", "0@i")
    project.write(".perfcore.yml", RULES)
    for clone in (project, other):
        clone.perf("remote", "add", "shared", str(tmp_path / "shared"))
    told = project.perf("push").err
    assert "~/bench" in told
    assert "lab3" not in told
    assert "alice" not in told
    assert "nothing to be pushed" in project.perf("push").err
    other.perf("pull")
    other.perf("export", "release", "-o", "profile.perf")
    exported = (other.path / "profile.perf").read_text()
    assert "~/bench" in exported
    assert "lab3" not in exported
    assert "alice" not in exported
    other.perf("tag", "seen", "release")
    other.perf("push")
    assert "pulled the tags of 1 profile from shared" in project.perf("pull").err
    assert [row["profile"] for row in project.perf("log", "--json").json["profiles"]] == [profile]
    assert project.perf("show", "--one-line", "seen").out == project.perf("show", "--one-line", "release").out
    for clone in (project, other):
        clone.perf("fsck")


@pytest.mark.parametrize(
    "theirs", ["omit: []", "omit: [cpus]\n  replace: {}", 'replace: {"/home/[a-z]+": "/home/alice"}']
)
def test_no_project_takes_the_rules_of_its_user_away(project: Project, tmp_path: Path, theirs: str) -> None:
    measured(project)
    own = project.home / "config/perfcore/config.yml"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text(RULES)
    project.write(".perfcore.yml", f"sharing:\n  {theirs}\n")
    project.perf("remote", "add", "shared", str(tmp_path / "shared"))
    told = project.perf("push").err
    assert "~/bench" in told
    assert "lab3" not in told
    assert "alice" not in told


@pytest.mark.process
@pytest.mark.parametrize("answer", ["y", "n"])
def test_on_a_terminal_the_first_push_is_asked_for(project: Project, tmp_path: Path, answer: str) -> None:
    measured(project)
    project.perf("remote", "add", "shared", str(tmp_path / "shared"))
    master, terminal = pty.openpty()
    command = (sys.executable, "-m", "perfcore", "push")
    streams = {"stdin": terminal, "stderr": terminal, "stdout": subprocess.DEVNULL}
    process = subprocess.Popen(command, cwd=project.path, env=project.env, **streams)  # type: ignore[call-overload]
    os.close(terminal)
    os.write(master, f"{answer}\n".encode())
    assert process.wait() == (0 if answer == "y" else 3)
    os.close(master)
    assert (tmp_path / "shared" / "objects").exists() == (answer == "y")


@pytest.mark.parametrize(("pattern", "text"), [("(", "x"), ("a", "\\\\2"), ("b", "bb")])
def test_rules_that_cannot_be_used_let_nothing_leave(project: Project, tmp_path: Path, pattern: str, text: str) -> None:
    measured(project)
    project.write(".perfcore.yml", f'sharing: {{replace: {{"{pattern}": "{text}"}}}}\n')
    project.perf("remote", "add", "shared", str(tmp_path / "shared"))
    assert "sharing.replace" in project.perf("push", code=2).err
    assert not (tmp_path / "shared" / "objects").exists()


def test_tags_that_break_the_rules_do_not_come_along(project: Project, other: Project) -> None:
    register(project, 100)
    repository = open_repository(project.path).repository
    (entry,) = repository.entries(repository.version())
    hostile = entry._replace(tags=("good", "=1+1", "a b", "-rf", "\x1b[31m", "0@i"))
    repository.store.update_index(
        "git", repository.version(), lambda index: indexes.add(indexes.bury(index, entry), hostile)
    )
    other.perf("remote", "add", "shared", str(project.path))
    assert "that break the rules of `perf tag` are left out" in other.perf("pull").err
    assert [row["tag"] for row in other.perf("tag", "--json").json["tags"]] == ["=1+1", "good"]
    assert "nothing to be pulled" in other.perf("pull").err


def test_a_tag_that_two_clones_gave_names_neither_until_it_is_taken_off_one(
    project: Project, other: Project, tmp_path: Path
) -> None:
    register(project, 100)
    mine = register(other, 200)
    for clone in (project, other):
        clone.perf("tag", "release", "0@i")
        clone.perf("remote", "add", "shared", str(tmp_path / "shared"))
    project.perf("push")
    assert "the tag release names 2 profiles now" in other.perf("pull").err
    assert "fits 2 profiles" in other.perf("show", "release", code=3).err
    other.perf("tag", "--delete", "release", mine)
    other.perf("push")
    assert "now" not in project.perf("pull").err
    assert "100 ns" in project.perf("show", "--one-line", "release").out


def test_a_profile_that_two_clones_tagged_has_both_tags(project: Project, other: Project, tmp_path: Path) -> None:
    register(project, 100)
    for clone in (project, other):
        clone.perf("remote", "add", "shared", str(tmp_path / "shared"))
    project.perf("push")
    other.perf("pull")
    project.perf("tag", "mine", "0@i")
    other.perf("tag", "theirs", "0@i")
    for clone in (project, other, project):
        clone.perf("push")
        clone.perf("pull")
    for clone in (project, other):
        assert len(clone.perf("log", "--json").json["profiles"]) == 1
        assert [row["tag"] for row in clone.perf("tag", "--json").json["tags"]] == ["mine", "theirs"]
        assert "nothing here is missing there" in clone.perf("push").err
        assert "nothing there is missing here" in clone.perf("pull").err
        assert "100 ns" in clone.perf("show", "--one-line", "0@i").out


def test_the_document_of_a_collection_follows_its_schema(project: Project, tmp_path: Path) -> None:
    profile = register(project, 100)
    project.perf("remote", "add", "shared", str(tmp_path / "shared"))
    project.perf("push")
    document = project.perf("remote", "gc", "--expire", "30d", "--json").json
    Draft202012Validator(json.loads(SCHEMA.with_name("remote-gc.json").read_text())).validate(document)
    assert [row["profile"] for row in document["expired"]] == [profile]


def test_a_damaged_retention_stops_a_push(project: Project, tmp_path: Path) -> None:
    register(project, 100)
    project.perf("remote", "add", "shared", str(tmp_path / "shared"))
    project.perf("push")
    (tmp_path / "shared" / "retention").mkdir()
    (tmp_path / "shared" / "retention" / "expired").write_text('{"format": 1, "before": ')
    assert "retention/expired of the remote is damaged" in project.perf("push", code=4).err


def test_a_remote_that_is_added_does_not_move_the_default_away_from_origin(
    project: Project, cloned: Project, tmp_path: Path
) -> None:
    register(cloned, 100)
    cloned.perf("remote", "add", "shared", str(tmp_path / "shared"))
    assert "pushed 1 profile of 1 version to origin" in cloned.perf("push").err
    assert "from origin" in cloned.perf("pull").err
    done = cloned.perf("remote", "gc", "--expire", "30d", "--dry-run").err
    assert "would remove 1 profile of 1 version of origin\n" in done
    assert "would remove 0 objects of origin (0 B), " in done
    assert not (tmp_path / "shared").exists()
    assert "perf push origin v1..v2" in cloned.perf("push", "v1..v2", code=2).err


def test_the_only_remote_is_the_default_also_where_it_is_one_of_git(project: Project, cloned: Project) -> None:
    cloned.git("remote", "rename", "origin", "up")
    register(cloned, 100)
    assert "pushed 1 profile of 1 version to up" in cloned.perf("push").err
    assert "nothing there is missing here" in cloned.perf("pull").err


@pytest.mark.parametrize("words", [["push"], ["pull"], ["remote", "gc"]])
def test_of_several_remotes_without_an_origin_one_has_to_be_named(
    cloned: Project, tmp_path: Path, words: list[str]
) -> None:
    cloned.git("remote", "rename", "origin", "up")
    cloned.perf("remote", "add", "shared", str(tmp_path / "shared"))
    done = cloned.perf(*words, code=2)
    assert "there are several remotes, and none of them is origin: name one" in done.err
    assert "`perf remote` lists them, such as shared" in done.err
    assert "perf push REMOTE v1..v2" in cloned.perf("push", "v1..v2", code=2).err


@pytest.mark.parametrize("words", [["pull"], ["fetch", "--dry-run"], ["pull", "--full"], ["remote", "gc"]])
def test_a_path_where_nothing_is_yet_is_an_error_until_a_push_makes_a_store(
    project: Project, tmp_path: Path, words: list[str]
) -> None:
    shared = tmp_path / "shared"
    register(project, 100)
    project.perf("remote", "add", "shared", str(shared))
    done = project.perf(*words, code=4)
    assert f"there is no store at {shared} yet" in done.err
    assert "`perf push shared` makes one" in done.err
    assert not shared.exists()
    project.perf("push")
    assert "there is no store" not in project.perf(*words).err


def test_an_empty_folder_is_said_to_have_no_store_yet(project: Project, tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    project.perf("remote", "add", "shared", str(tmp_path / "shared"))
    assert f"there is no store at {tmp_path / 'shared'} yet" in project.perf("pull").err


@pytest.mark.parametrize("url", ["s3://key:secret@team/x", "gs://key:sec/secret@team/x", "az://:secret@team"])
def test_the_url_of_a_bucket_with_a_key_in_it_is_refused_and_not_shown(project: Project, url: str) -> None:
    done = project.perf("remote", "add", "shared", url, code=2)
    assert ":***@team" in done.err
    assert "secret" not in done.err
    assert "there are no remotes" in project.perf("remote").err
    local = project.path / ".perf" / "local.yml"
    local.write_text(f"{local.read_text()}remotes: {{shared: '{url}'}}\n")  # as before they were refused
    project.perf("config", "trust", "--yes")
    assert "secret" not in project.perf("remote").out
    assert "secret" not in project.perf("pull", code=2).err


@pytest.mark.parametrize("words", [["v3..v1"], ["v1..v1"], ["--since", "2030-01-01"]])
@pytest.mark.parametrize(("verb", "where"), [("push", "pushed to"), ("pull", "pulled from")])
def test_a_choice_without_versions_is_told_so(
    project: Project, tmp_path: Path, verb: str, where: str, words: list[str]
) -> None:
    for number in (1, 2, 3):
        project.commit(f"Version {number}")
        project.git("tag", f"v{number}")
        register(project, 100)
    project.perf("remote", "add", "shared", str(tmp_path / "shared"))
    project.perf("push")
    assert f"nothing to be {where} shared: no version is meant" in project.perf(verb, "shared", *words).err


@pytest.mark.parametrize("made", [True, False])
def test_a_folder_in_the_place_of_the_remote_is_told_so(project: Project, made: bool) -> None:
    if made:
        (project.path.parent / "fd").mkdir()
    done = project.perf("push", "../fd", code=2)
    assert "../fd is a folder, and no name of a remote" in done.err
    assert "perf remote add NAME ../fd" in done.err


def test_a_folder_that_is_called_as_a_version_is_one(project: Project) -> None:
    (project.path / "main").mkdir()
    assert "main names versions" in project.perf("push", "main", code=2).err
    (project.path / "fd").mkdir()
    assert "fd is a folder" in project.perf("push", "fd", code=2).err


def test_a_remote_of_git_is_not_removed(cloned: Project) -> None:
    done = cloned.perf("remote", "remove", "origin", code=3)
    assert "origin is a remote of git" in done.err
    assert "git remote remove origin" in done.err


def test_the_help_names_buckets_and_what_fetch_is(project: Project) -> None:
    for words in (["remote"], ["remote", "add"]):
        assert "s3://" in project.perf(*words, "--help").out
    assert "This is `perf pull` by another name" in project.perf("fetch", "--help").out
    assert "by another name" not in project.perf("pull", "--help").out


def test_tags_are_listed_before_they_leave(project: Project, tmp_path: Path) -> None:
    measured(project)
    project.perf("tag", "for-acme", "0@i")
    project.write(".perfcore.yml", RULES)
    project.perf("remote", "add", "shared", str(tmp_path / "shared"))
    assert "  tags" in project.perf("push", "--dry-run").err
    assert "for-acme" in project.perf("push").err


def test_after_a_change_of_rules_the_list_says_why_it_is_there_again(project: Project, tmp_path: Path) -> None:
    measured(project)
    project.perf("remote", "add", "shared", str(tmp_path / "shared"))
    assert "this is the first push to shared; the profiles name" in project.perf("push").err
    for wall, rules in ((200, RULES), (300, RULES.replace("~", "HOME"))):
        project.write(".perfcore.yml", rules)
        measured(project, wall)
        told = project.perf("push").err
        assert "first push" not in told
        assert "the rules of sharing changed since a push to shared; the profiles name" in told
