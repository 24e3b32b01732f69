"""A repository opened as a library: by scripts and plugins, without the command line."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest
from perfcore_testing import old_index, profiles
from perfcore_testing.distributions import Site
from perfcore_testing.project import Project

from perfcore.config.layers import set_value
from perfcore.errors import FormatError, NotFoundError, PerfError, PluginError, StorageError, UntrustedError, UsageError
from perfcore.model import Profile
from perfcore.model.record import replace
from perfcore.profile import codec
from perfcore.profile.stacks import Frame, StackBuilder
from perfcore.profile.table import column, table
from perfcore.repository import Repository
from perfcore.repository.entries import unreachable
from perfcore.repository.registration import register_many
from perfcore.repository.repository import UserPlaces, load_config
from perfcore.store.index import Index
from perfcore.store.lookup import Ref
from perfcore.store.objects import Object
from perfcore.store.store import object_key


@pytest.fixture
def places(project: Project) -> UserPlaces:
    return UserPlaces(project.home / "config.yml", project.home / "trusted", project.home / "trees")


@pytest.fixture
def repository(project: Project, places: UserPlaces) -> Repository:
    return Repository.open(project.path, places=places)


def _pending(repository: Repository, profile: Profile | None = None, **changes: Any) -> Ref:
    return Ref(kind="pending", pending=repository.save(replace(profile or profiles.timed(), **changes)))


def test_it_is_found_from_any_folder_below(project: Project, places: UserPlaces) -> None:
    below = project.path / "a" / "b"
    below.mkdir(parents=True)
    opened = Repository.open(below, places=places)
    assert (opened.root, opened.home, opened.cwd) == (project.path, project.path, below)
    with pytest.raises(NotFoundError, match="not inside"):
        Repository.open(project.path.parent, places=places)


def test_linked_trees_share_one_history(project: Project, repository: Repository, places: UserPlaces) -> None:
    _, entry = repository.register(_pending(repository))
    linked = project.path.parent / "linked"
    project.git("worktree", "add", "--quiet", "--detach", str(linked))
    opened = Repository.open(linked, places=places)
    assert (opened.root, opened.home) == (linked, project.path)
    assert opened.entries(opened.version()) == (entry,)


def test_a_layout_of_a_newer_version_is_left_alone(project: Project, places: UserPlaces) -> None:
    local = project.path / ".perf" / "local.yml"
    local.write_text(local.read_text().replace("format: 1", "format: 2"))
    with pytest.raises(FormatError, match="has layout 2, and this perfcore knows 1"):
        Repository.open(project.path, places=places)


def test_init_gives_the_opened_repository(empty_project: Project) -> None:
    home = empty_project.home
    places = UserPlaces(home / "config.yml", home / "trusted", home / "trees")
    made = Repository.init(empty_project.path, init_vcs=True, places=places)
    assert made.vcs_name == "git"
    assert {path.name for path in made.perf.iterdir()} >= {"jobs", "logs", "objects", "local.yml"}
    with pytest.raises(PerfError, match="is there already"):
        Repository.init(empty_project.path, places=places)
    with pytest.raises(NotFoundError):
        Repository.init(empty_project.path / "missing", places=places)


def test_overrides_are_the_strongest_layer(project: Project, places: UserPlaces) -> None:
    project.write(".perfcore.yml", "check: {threshold: 0.1}\n")
    opened = Repository.open(project.path, places=places, overrides={"check": {"threshold": 0.5}})
    assert opened.config.get("check.threshold") == 0.5
    assert load_config(project.path, places).get("check.threshold") == 0.1
    assert load_config(None, places).get("check.threshold") is None


def test_what_is_registered_is_loaded_as_it_was(repository: Repository) -> None:
    for made in (profiles.large(), profiles.hostile(), profiles.unheard_of(), profiles.bare()):
        _, entry = repository.register(_pending(repository, made))
        loaded = repository.store.load(entry.profile)
        assert loaded.header == made.header
        assert set(loaded.tables) == set(made.tables)
        assert all(loaded.tables[name] == made.tables[name] for name in made.tables)
        repository.unregister(repository.version(), entry)


def test_an_entry_says_what_listings_need_without_the_profile(repository: Repository) -> None:
    version, entry = repository.register(_pending(repository, profiles.traced()))
    assert repository.entries(version) == (entry,)
    assert (entry.type, entry.collector, entry.cmd) == ("trace", "trace", "./gzip")
    assert (entry.config_id, entry.environment_id) == ("c0" * 20, "e0" * 20)


def test_an_index_of_version_1_is_listed_everywhere_under_its_version(repository: Repository) -> None:
    version, entry = repository.register(_pending(repository))
    key = object_key(version)
    old = old_index.encode(Index(vcs="git", version=version, entries=(entry,)))
    repository.store.storage.replace(key, old, repository.store.storage.read(key).tag)
    ((listed, completed),) = repository.everywhere()
    assert (listed, completed.profile, completed.type, completed.cmd) == (version, entry.profile, entry.type, entry.cmd)
    assert list(unreachable(repository)) == []


@pytest.mark.parametrize("cached", [True, False])
def test_a_folder_in_the_place_of_an_index_is_not_no_profiles(repository: Repository, cached: bool) -> None:
    version, _ = repository.register(_pending(repository))
    path = repository.perf / object_key(version)
    if cached:
        repository.everywhere()
    path.unlink()
    path.mkdir()
    (path / "x").touch()
    assert repository.everywhere() == []
    assert any(object_key(version) in str(error) for error in repository.left_out)
    with pytest.raises(FormatError, match="a folder stands where"):
        repository.entries(version)


def test_only_a_clean_profile_of_the_version_is_registered(project: Project, repository: Repository) -> None:
    first = repository.version()
    with pytest.raises(UsageError, match="uncommitted changes"):
        repository.register(_pending(repository, dirty=True))
    project.commit("Second")
    ref = _pending(repository, origin=first)
    with pytest.raises(UsageError, match="was measured for version"):
        repository.register(ref)
    assert repository.register(ref, first)[0] == first
    with pytest.raises(PerfError):
        repository.register(_pending(repository), "f" * 40)
    with pytest.raises(UsageError, match="registered already"):
        repository.register(repository.find(f"{first}:0@i")[0])


def test_a_file_goes_only_when_it_is_registered(project: Project, repository: Repository) -> None:
    ref = _pending(repository)
    assert ref.pending is not None
    path = project.path / "mine.perf"
    path.write_bytes((repository.perf / "jobs" / ref.pending.name).read_bytes())
    (found,) = repository.find("mine.perf")
    repository.register(found, keep=True)
    assert path.exists()
    repository.register(found)
    assert not path.exists()


def test_a_file_that_needs_tables_of_another_store_is_refused(project: Project, repository: Repository) -> None:
    saved = repository.save(profiles.large())
    path = project.path / "part.perf"
    path.write_bytes((repository.perf / "jobs" / saved.name).read_bytes())
    for stored in (repository.perf / "objects").rglob("*"):
        if stored.is_file():
            stored.unlink()
    with pytest.raises(FormatError, match="not in this store") as raised:
        repository.read_file(path)
    assert raised.value.hint is not None
    assert "perf export" in raised.value.hint


@pytest.mark.parametrize("place", ["pending", "own file", "foreign file"])
def test_tables_that_go_while_a_profile_is_registered_are_put_again(
    project: Project, repository: Repository, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when another process registers and removes the same pending profile, and garbage is collected then."""
    made = profiles.large()
    ref = _pending(repository, made)
    assert ref.pending is not None
    if place == "own file":
        ref = Ref(
            kind="file", path=project.write("own.perf", (repository.perf / "jobs" / ref.pending.name).read_text())
        )
    elif place == "foreign file":
        perun = {"header": {"type": "time"}, "collector_info": {"name": "time"}}
        rows = [{"type": "time", "amount": row, "uid": "f"} for row in range(9000)]
        ref = Ref(kind="file", path=project.write("foreign.json", json.dumps({"resources": rows, **perun})))
    lost: list[Path] = []
    put = repository.store.put

    def put_after_a_loss(item: Object) -> str:
        """The profile itself is put when its tables have been read."""
        if item.kind == "profile" and not lost:
            lost.extend(path for path in (repository.perf / "objects").rglob("*") if path.is_file())
            for path in lost:
                path.unlink()
        return put(item)

    monkeypatch.setattr(repository.store, "put", put_after_a_loss)
    version, entry = repository.register(ref)
    assert lost
    assert entry.tables
    codec.verify(repository.store.load(repository.entries(version)[0].profile))


def test_reading_a_foreign_file_writes_nothing(project: Project, repository: Repository) -> None:
    perun = {"header": {"type": "time"}, "collector_info": {"name": "time"}}
    rows = [{"type": "time", "amount": row, "uid": "f"} for row in range(9000)]
    path = project.write("foreign.json", json.dumps({"resources": rows, **perun}))
    assert repository.read_file(path).tables["resources"].rows == 9000
    assert not [path for path in (repository.perf / "objects").rglob("*") if path.is_file()]


def test_tags_belong_to_the_entry_and_go_with_it(repository: Repository) -> None:
    version, entry = repository.register(_pending(repository))
    tagged = repository.tag(version, entry, add=("a", "b"))
    assert repository.tag(version, tagged, add=("b",), remove=("a",)).tags == ("b",)
    assert [ref.entry and ref.entry.tags for ref in repository.find("b")] == [("b",)]
    repository.unregister(version, entry)
    with pytest.raises(NotFoundError, match="not registered"):
        repository.tag(version, entry, add=("c",))


def test_a_damaged_index_is_left_out_of_listings_with_a_warning(project: Project, places: UserPlaces) -> None:
    warnings: list[str] = []
    opened = Repository.open(project.path, places=places)
    opened.plugins.warn = warnings.append
    version, _ = opened.register(_pending(opened))
    index = opened.perf / "objects" / version[:2] / version[2:]
    index.write_bytes(index.read_bytes()[:-1])
    assert [(found.id, entries) for found, entries in opened.walk()] == [(version, ())]
    assert opened.everywhere() == []
    assert all("damaged" in warning for warning in warnings)
    with pytest.raises(FormatError):
        opened.entries(version)


def test_what_a_versioned_file_chooses_to_run_needs_trust(project: Project, places: UserPlaces) -> None:
    project.write(
        ".perfcore.yml", "storage: {name: other}\ncollector: {time: {setup: x}}\nview: {table: {raw: true}}\n"
    )
    warnings: list[str] = []
    set_value(project.path / ".perf/local.yml", "storage.name", None)
    opened = Repository.open(project.path, places=places)
    opened.plugins.warn = warnings.append
    with pytest.raises(UntrustedError, match="storage"):
        _ = opened.store
    with pytest.raises(UntrustedError, match=r"collector\.time"):
        opened.plugin_options("collector", "time")
    assert opened.plugin_options("view", "table") == {}
    assert "left out" in warnings[0]
    layer = opened.config.origin("storage.name")
    assert layer is not None
    opened.trust.add(layer.digest)
    assert opened.plugin_options("collector", "time") == {"setup": "x"}
    assert opened.plugin_options("view", "table") == {"raw": True}
    with pytest.raises(PluginError, match="no storage 'other'"):
        _ = opened.store


def test_a_vcs_that_fails_is_one_error_naming_it(project: Project, places: UserPlaces, site: Site) -> None:
    site.install(
        "acme-vcs",
        points={"perfcore.vcs": ["acme = acme_vcs:Vcs"]},
        acme_vcs="raise RuntimeError('broken')\n",
    )
    assert Repository.open(project.path, places=places).vcs_name == "git"
    with pytest.raises(NotFoundError, match="not inside"):
        Repository.open(project.path.parent, places=places)


@pytest.mark.parametrize("name", ["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "HOME", "ANDROID_DATA"])
@pytest.mark.parametrize("value", [None, "", "/a/b", "/", "//a", "/a/", "relative", "~/x", " /a", "/data", "/a/../b"])
def test_the_user_s_places_are_those_of_platformdirs(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str | None
) -> None:
    for variable in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "ANDROID_DATA", "ANDROID_ROOT"):
        monkeypatch.delenv(variable, raising=False)
    if value is None:
        monkeypatch.delenv(name, raising=False)
    else:
        monkeypatch.setenv(name, value)
    assert UserPlaces.default(os.environ) == UserPlaces.default()


def test_the_user_s_places_are_outside_of_every_repository(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("CONFIG", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    default = UserPlaces.default()
    assert default.config == tmp_path / "CONFIG" / "perfcore" / "config.yml"
    assert default.trust.is_relative_to(tmp_path / "DATA")
    assert default.trees.is_relative_to(tmp_path / "CACHE")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the folders are not found by variables and passwd(5)")
def test_a_user_without_a_home_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that runs as a user whom its passwd does not list."""

    def not_listed(user: int) -> NoReturn:
        raise KeyError(f"getpwuid(): uid not found: {user}")

    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", not_listed)
    with pytest.raises(StorageError, match="no home folder of this user") as raised:
        UserPlaces.default(os.environ)
    assert raised.value.hint == "HOME names one"


def test_many_are_registered_in_their_order_beside_those_that_cannot_be(
    project: Project, repository: Repository
) -> None:
    first = repository.version()
    other = project.commit("another")
    refs = [_pending(repository, created=number) for number in range(300)]
    dirty = _pending(repository, created=1_000, dirty=True)
    late = _pending(repository, created=5)
    asked = [*((ref, first) for ref in refs), (dirty, first), (late, other)]
    results = list(register_many(repository, asked))
    assert [type(result) for result in results] == [tuple] * 300 + [UsageError] + [tuple]
    entries = [result[1] for result in results if not isinstance(result, PerfError)]
    assert [entry.created for entry in entries] == [*range(300), 5]
    assert [entry.created for entry in repository.entries(first)] == [*range(300)]
    assert [entry.created for entry in repository.entries(other)] == [5]
    assert [waiting.created for waiting in repository.pending()] == [1_000]


def test_the_index_is_written_once_for_many(repository: Repository) -> None:
    written = []
    replace = repository.store.storage.replace

    class Counting:
        def __getattr__(self, name: str) -> Any:
            return getattr(storage, name)

        def replace(self, key: str, data: bytes, tag: str | None) -> str:
            written.append(key)
            return replace(key, data, tag)

    storage = repository.store.storage
    refs = [_pending(repository, created=number) for number in range(40)]
    repository.store.storage = Counting()
    assert not any(isinstance(r, PerfError) for r in register_many(repository, ((ref, None) for ref in refs)))
    assert len(written) == 1


def test_two_of_one_tag_are_never_registered_together(repository: Repository) -> None:
    header = replace(profiles.timed().header, tags=("golden",))
    refs = [_pending(repository, created=number, header=header) for number in range(2)]
    results = list(register_many(repository, ((ref, None) for ref in refs)))
    assert [result[1].tags for result in results if not isinstance(result, PerfError)] == [("golden",), ()]


def test_a_damaged_index_fails_only_the_profiles_of_its_version(project: Project, repository: Repository) -> None:
    first = repository.version()
    repository.register(_pending(repository))
    path = project.path / ".perf" / "objects" / first[:2] / first[2:]
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    other = project.commit("another")
    asked = [(_pending(repository, created=number), (first, other)[number % 2]) for number in range(4)]
    results = list(register_many(repository, asked))
    assert [isinstance(result, PerfError) for result in results] == [True, False, True, False]
    assert len(repository.pending()) == 2


@pytest.mark.parametrize("is_fresh", [False, True], ids=["here", "in a fresh clone"])
def test_a_profile_continues_the_stacks_of_an_ancestor_whatever_its_file_is_called(
    project: Project, repository: Repository, places: UserPlaces, is_fresh: bool
) -> None:
    def sampled(name: str, calls: int) -> Profile:
        builder = StackBuilder()
        stacks = [builder.add((Frame("main"), Frame(f"walk {n % 50}"), Frame(f"leaf {n}"))) for n in range(calls)]
        rows = table("resources", [column("stack", stacks, dtype="i64"), column("samples", range(calls))])
        header = replace(profiles.timed().header, type="sample", cmd=name)
        return replace(profiles.timed(), header=header, config_id=name, tables={"resources": rows, **builder.tables()})

    repository.register(_pending(repository, sampled("monday", 5_000)))
    project.commit("another")
    if is_fresh:
        shutil.rmtree(project.path / ".perf" / "cache")
        repository = Repository.open(project.path, places=places)
    _, entry = repository.register(_pending(repository, sampled("tuesday", 5_010)))
    first, second = (
        codec.shared_pieces(repository.store.get(id, "profile").content, "x")
        for id in (repository.entries(project.git("rev-parse", "HEAD~1").out.strip())[0].profile, entry.profile)
    )
    for name in ("functions", "frames", "stacks"):
        assert second[name][:-1] == first[name]
    assert len(repository.store.load(entry.profile).tables["stacks"]) == 5_010 + 50 + 1
