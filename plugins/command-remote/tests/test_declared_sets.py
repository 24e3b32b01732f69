"""A set that an installed distribution declares travels, is verified, and keeps its objects."""

from __future__ import annotations

from pathlib import Path

import pytest
from perfcore_storage_kit import sets
from perfcore_testing.distributions import Site
from perfcore_testing.project import Project

from perfcore.library import open_repository
from perfcore.plugins import Plugins
from perfcore.store import objects
from perfcore.store.store import object_key

RATINGS = """
from perfcore_storage_kit import sets


class Ratings:
    "What people think of versions."

    def redacted(self, key, data, rules):
        record = sets.decode(data, key)
        return sets.encode(record._replace(payload=rules.text(record.payload.decode()).encode()))
"""
PLAIN = "class Ratings: 'What people think of versions.'"
KEY = f"ratings/{7:040x}/alice"


@pytest.fixture
def clones(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Project, Project]:
    """Two of them, and a folder that both reach."""
    project.use_home(monkeypatch)
    project.git("clone", "--quiet", "--origin", "shared", str(project.path), str(tmp_path / "other"))
    other = Project(tmp_path / "other", project.home)
    other.perf("init")
    for clone in (project, other):
        clone.perf("remote", "add", "shared", str(tmp_path / "shared"))
    return project, other


def declare(site: Site, module: str = PLAIN, name: str = "ratings") -> None:
    site.install("acme-ratings", points={"perfcore.set": [f"{name} = acme_ratings:Ratings"]}, acme_ratings=module)


def rate(project: Project, text: str = "alice likes it") -> str:
    """A record with an object that nothing else refers to; gives the object's id."""
    store = open_repository(project.path).repository.store
    id = store.put(objects.Object("rating", "stars", text.encode()))
    store.storage.create(KEY, sets.encode(sets.Record(1, "0" * 40, (id,), text.encode())))
    return id


def record(project: Project) -> sets.Record:
    return sets.decode(open_repository(project.path).repository.store.storage.read(KEY).data, KEY)


def collect(project: Project, id: str) -> bool:
    """Whether an object outlives a collection of garbage without grace."""
    project.perf("gc", "--grace", "0s")
    return open_repository(project.path).repository.store.read_key(object_key(id)) is not None


def test_a_declared_set_is_brought_kept_and_verified(clones: tuple[Project, Project], site: Site) -> None:
    here, there = clones
    declare(site)
    id = rate(here)
    assert here.perf("push", "--json").json["records"] == 1
    assert there.perf("pull", "--json").json["records"] == 1
    assert record(there) == record(here)
    assert there.perf("pull", "--json").json["records"] == 0
    assert collect(there, id)
    assert "OK" in there.perf("fsck").err
    path = there.path / ".perf" / "objects" / id[:2] / id[2:]
    path.unlink()
    assert f"object {id} is missing or damaged" in there.perf("fsck", code=4).out
    assert there.perf("pull", "--full", "--json").json["records"] == 1
    there.perf("fsck")


def test_nothing_of_a_set_that_is_not_declared_is_brought(clones: tuple[Project, Project], site: Site) -> None:
    here, _ = clones
    rate(here)
    assert here.perf("push", "--json").json["records"] == 0


def test_garbage_is_collected_by_who_has_not_the_plugin_and_nothing_is_lost(
    clones: tuple[Project, Project], site: Site, tmp_path: Path
) -> None:
    here, there = clones
    declare(site)
    id = rate(here)
    here.perf("push")
    there.perf("pull")
    collect(here, id)
    site.uninstall("acme-ratings")
    assert collect(here, id)
    assert collect(there, id)
    there.perf("remote", "gc", "--grace", "0s", "--alone")
    assert (tmp_path / "shared" / "objects" / id[:2] / id[2:]).exists()


def test_rules_of_sharing_are_applied_by_the_plugin(clones: tuple[Project, Project], site: Site) -> None:
    here, there = clones
    here.write(".perfcore.yml", "sharing: {replace: {alice: someone}}\n")
    declare(site, RATINGS)
    rate(here)
    here.perf("push")
    there.perf("pull")
    assert record(there).payload == b"someone likes it"
    assert here.perf("push", "--json").json["records"] == 0
    assert here.perf("pull", "--json").json["records"] == 0
    assert record(here).payload == b"alice likes it"


@pytest.mark.parametrize("module", [PLAIN, "raise RuntimeError('no')"])
def test_where_no_plugin_applies_the_rules_nothing_leaves(
    clones: tuple[Project, Project], site: Site, tmp_path: Path, module: str
) -> None:
    here, _ = clones
    here.write(".perfcore.yml", "sharing: {replace: {alice: someone}}\n")
    declare(site, module)
    rate(here)
    assert "1 record not sent" in here.perf("push").err
    assert not (tmp_path / "shared" / "ratings").exists()


def test_an_error_of_a_plugin_is_named_and_the_rest_is_brought(clones: tuple[Project, Project], site: Site) -> None:
    here, _ = clones
    here.write(".perfcore.yml", "sharing: {replace: {alice: someone}}\n")
    declare(site, RATINGS.replace("sets.decode(data, key)", "1 / 0"))
    rate(here)
    assert "acme-ratings 1.0" in here.perf("push", code=4).err


@pytest.mark.parametrize("name", ["objects", "jobs", "retention", "Ratings", "a/b", "..", "sets"])
def test_a_name_that_the_store_uses_is_no_set(site: Site, name: str) -> None:
    declare(site, name=name)
    warnings: list[str] = []
    assert name not in sets.declared(Plugins(warn=warnings.append))
    assert any("acme-ratings" in text for text in warnings)


def test_the_sets_are_known_without_an_import(site: Site) -> None:
    declare(site, "raise SystemExit")
    assert {"ratings", "receipts"} <= set(sets.declared(Plugins()))
