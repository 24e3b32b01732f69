"""Tags, removal, garbage collection and verification, as calls of the library with documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from perfcore_testing import profiles
from perfcore_testing.project import Project

from perfcore.errors import FormatError, UsageError
from perfcore.library import History, open_repository
from perfcore.model.record import replace
from perfcore.store import notes
from perfcore.store.store import object_key

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"


@pytest.fixture
def history(project: Project) -> History:
    history = open_repository(project.path)
    history.register(history.save(replace(profiles.timed(), origin=history.version())))
    return history


def fits(name: str, document: dict[str, Any]) -> None:
    schema = json.loads((SCHEMAS / f"{name}.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(json.dumps(document)), schema)


def test_a_tag_names_one_profile_until_it_is_deleted(history: History, project: Project) -> None:
    assert history.tag("best").tags == ("best",)
    assert [tag for tag, _, _ in history.tags().tags] == ["best"]
    fits("tags", history.tags().as_json())
    assert project.perf("tag", "--json").json == history.tags().as_json()
    history.register(history.save(replace(profiles.timed(wall=7), origin=history.version())))
    with pytest.raises(UsageError, match="already"):
        history.tag("best", "1@i")
    assert history.tag("best", delete=True).tags == ()
    with pytest.raises(UsageError, match="is no tag"):
        history.tag("-x")


def test_a_removed_profile_is_garbage_after_its_grace(history: History, project: Project) -> None:
    assert [ref.name[-3:] for ref in history.remove("0@i", dry_run=True)] == ["0@i"]
    assert history.entries()
    history.remove("0@i")
    assert not history.entries()
    assert history.gc().removed == (), "the grace is two weeks"
    tried, swept = history.gc(0.0, dry_run=True), history.gc(0.0)
    assert tried.removed == swept.removed != ()
    assert (tried.dry_run, swept.dry_run) == (True, False)
    fits("gc", swept.as_json())
    fits("gc", project.perf("gc", "--json").json)


def test_a_file_outside_of_the_store_is_not_removed_and_nothing_else_either(history: History, tmp_path: Path) -> None:
    saved = history.save(profiles.timed())
    path = tmp_path / "profile.perf"
    path.write_bytes((history.repository.perf / "jobs" / saved.name).read_bytes())
    with pytest.raises(UsageError, match="outside the store"):
        history.remove(saved, str(path))
    assert path.exists()
    assert history.pending()


def test_damage_is_a_finding(history: History, project: Project) -> None:
    assert history.fsck().errors == 0
    (entry,) = history.entries()
    for path in (history.repository.perf / "objects").rglob("*"):
        if path.is_file() and entry.profile[-8:] in path.name:
            path.chmod(0o600)
            path.write_bytes(b"damaged")
    result = history.fsck()
    assert {finding.level for finding in result.findings} == {"error"}
    fits("fsck", result.as_json())
    printed = project.perf("fsck", "--json", code=None)
    fits("fsck", json.loads(printed.out))


def test_a_list_of_notes_in_the_place_of_an_index_is_damage_and_nothing_is_removed(history: History) -> None:
    """A list does not say what it is about, so nothing but the version shows that it is in the wrong place."""
    store, version = history.repository.store, history.version()
    notes.add(store, "subject", "check", b"{}")
    assert history.fsck().findings == ()
    key = object_key(version)
    store.storage.replace(key, store.storage.read(notes.key("subject")).data, store.storage.read(key).tag)
    assert [finding.key for finding in history.fsck().findings if finding.level == "error"] == [key]
    with pytest.raises(FormatError, match="might have been an index"):
        history.gc(0.0)


@pytest.mark.parametrize("words", [("tag",), ("log", "--unreachable"), ("show", "kept")])
def test_a_list_of_notes_in_the_place_of_an_index_is_told_by_what_looks_for_tags(
    history: History, project: Project, words: tuple[str, ...]
) -> None:
    store, key = history.repository.store, object_key(history.version())
    notes.add(store, "subject", "check", b"{}")
    project.perf("tag")
    index = store.storage.read(key)
    tag = store.storage.replace(key, store.storage.read(notes.key("subject")).data, index.tag)
    for _ in range(2):
        assert f"{key} is a list of notes" in project.perf(*words, code=4).err
    store.storage.replace(key, index.data, tag)
    assert "list of notes" not in project.perf("tag").err


def test_fsck_names_a_folder_of_objects_that_is_gone(history: History, project: Project) -> None:
    (project.path / ".perf" / "objects").rename(project.path / "objects")
    done = project.perf("fsck", code=4)
    assert f"error: objects/: the folder {project.path}/.perf/objects is gone" in done.out
    (project.path / "objects").rename(project.path / ".perf" / "objects")
    project.perf("fsck")
    project.perf("gc")  # which may put all of it into packs
    project.perf("fsck")


def test_fsck_names_profiles_that_no_version_refers_to_and_does_not_fail(project: Project) -> None:
    history = open_repository(project.path)
    entry = history.register(history.save(profiles.timed(3, 100)))
    assert "nothing refers" not in project.perf("fsck").out
    head = history.version()
    (project.path / ".perf" / "objects" / head[:2] / head[2:]).unlink()
    assert f"note: objects/: nothing refers to 1 profile: {entry.profile[:10]}" in project.perf("fsck").out
