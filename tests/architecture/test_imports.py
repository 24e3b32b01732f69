"""What a command must not import before it needs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from perfcore_check_kit.history import SHORT
from perfcore_testing import profiles
from perfcore_testing.project import Project

from perfcore import model
from perfcore.cli.verbs import VERBS
from perfcore.model.record import replace
from perfcore.repository import Repository
from perfcore.repository.repository import UserPlaces
from perfcore.store.lookup import Ref

HEAVY = {"numpy", "scipy", "polars", "duckdb", "rich", "pygments", "git", "gitdb", "ruamel", "yaml"} | {
    "hypothesis",
    "pytest",
    "asyncio",
    "concurrent",
    "multiprocessing",
    "unittest",
    "http",
    "ssl",
    "sqlite3",
}
"""Nobody needs these to look at what there is."""

NO_PLUGINS = frozenset(("stevedore", "pluggy", "platformdirs", "perfcore_vcs_git", "perfcore_collect_time"))
"""Help and version need no plugin, and none of what finds them."""

STATUS = {
    "perfcore": "analysis cli config digests errors files hookspecs locks model named_tuple plugins repository store "
    "text",
    "perfcore.analysis": "note_keys",
    "perfcore.cli": "console lazy_imports listing outcome status_page verbs",
    "perfcore.config": "documents layers trust",
    "perfcore.model": "versions",
    "perfcore.plugins": "drivers installed registry",
    "perfcore.repository": "location repository",
    "perfcore.store": "index notes objects pending store",
}
"""All of perfcore that `perf status` imports. Each module that is added here is waited for by whoever looks."""


SLOW = {"attr", "attrs", "inspect", "json", "platform", "platformdirs", "random", "shutil", "tempfile"} | {
    "hashlib",
    "ipaddress",
    "locale",
    "socket",
    "textwrap",
}
"""Each of these takes a hundredth to a third of what `perf status` takes."""

COLLECT = 46
"""Modules of the core that the measurement of a command may import, the plugin's own needs among them. It has imported
75: those that continue profiles, share sessions, read call stacks, build, make trees of other versions or explain a
failure are for whoever needs them."""

CHECK = 55
"""Modules of the core that a check of a history may import; packages hold no code. It has imported 80, most of them for
profiles that it did not read."""


def _modules(project: Project, *words: str) -> frozenset[str]:
    """The modules that a command imports, but for those that wait for their first use."""
    script = "import sys; from perfcore.cli import main; code = main(); sys.stdout = sys.stderr;"
    script += "of = lambda module: type(getattr(getattr(module, '__spec__', None), 'loader', None)).__name__;"
    script += "names = [name for name, module in sys.modules.items() if of(module) != 'LazyImports'];"
    script += "print('\\n' + ' '.join(names)); sys.exit(code)"
    done = project.run(sys.executable, "-c", script, *words)
    assert done.code == 0, done
    return frozenset(done.err.splitlines()[-1].split())


def _of_the_core(modules: frozenset[str]) -> set[str]:
    """The modules of the core without its packages, which hold no code."""
    core = {name for name in modules if name.startswith("perfcore.")}
    return core - {name.rpartition(".")[0] for name in core}


def _loaded(project: Project, *words: str) -> frozenset[str]:
    """The top-level packages that a command imports."""
    return frozenset(name.partition(".")[0] for name in _modules(project, *words))


def _measured(project: Project) -> Project:
    """A profile that is registered, and plugins that are remembered."""
    project.perf("collect", "time", "--repeat", "1", "--warmup", "0", "--add", "--", "true")
    _loaded(project, "status")
    return project


def test_the_version_needs_nothing(project: Project) -> None:
    loaded = _loaded(project, "--version")
    assert not loaded & (HEAVY | NO_PLUGINS | SLOW | {"typer", "msgspec", "re", "typing", "pathlib", "hashlib"})


def test_help_needs_no_plugin_but_those_of_its_commands(project: Project) -> None:
    _loaded(_measured(project), "--no-plugins", "--help")
    loaded = _loaded(project, "--no-plugins", "--help")
    assert not loaded & (HEAVY | {"stevedore", "pluggy", "perfcore_vcs_git", "perfcore_collect_time"})


@pytest.mark.parametrize("words", [("status",), ("log",), ("log", "--short", "--last", "1"), ("add", "--all")])
def test_looking_and_registering_need_no_parser_of_yaml_and_no_other_heavy_package(
    project: Project, words: tuple[str, ...]
) -> None:
    assert not _loaded(project, *words) & (
        HEAVY | {"perfcore_collect_time", "perfcore_view_table", "perfcore_check_pair"}
    )


def test_status_imports_only_what_it_shows(project: Project) -> None:
    loaded = _modules(_measured(project), "status")
    wanted = {f"{package}.{name}" for package, names in STATUS.items() for name in names.split()}
    assert {name for name in loaded if name.startswith("perfcore.")} == wanted
    assert not loaded & {"msgspec", "pluggy", "decimal", "typer", "perfcore_vcs_git.changes", "perfcore_vcs_git.state"}
    assert not loaded & SLOW
    project.perf("collect", "time", "--repeat", "1", "--warmup", "0", "--", "true")
    assert not _modules(project, "status") & (SLOW - {"json"})


def test_a_log_imports_no_profiles_and_nothing_that_checks(project: Project) -> None:
    loaded = _modules(_measured(project), "log")
    assert not loaded & {"pluggy", "typer", "perfcore.model.changes", "perfcore.model.measurements"}
    assert not loaded & {"inspect", "typing_extensions"}
    assert not [name for name in loaded if name.startswith("perfcore.profile")]
    assert {name for name in loaded if name.startswith("perfcore.analysis.")} == {"perfcore.analysis.note_keys"}


def test_a_verb_imports_no_other_verb(project: Project) -> None:
    loaded = _modules(_measured(project), "collect", "time", "--repeat", "1", "--warmup", "0", "--", "true")
    verbs = {f"perfcore.cli.{verb.module}" for verb in VERBS.values()}
    assert not loaded & verbs
    parsed = _modules(_measured(project), "-C", ".", "collect", "time", "--repeat", "1", "--warmup", "0", "--", "true")
    assert parsed & verbs == {"perfcore.cli.collect"}
    assert not loaded & {"perfcore.model.changes", "perfcore.model.subjects", "perfcore.store.catalog", "stevedore"}


def test_the_measurement_of_a_command_imports_no_module_that_only_others_need(project: Project) -> None:
    """Temporary folders, random orders, the library of C, which only the helper process calls, and what declares and
    calls plugins where they have more to say."""
    words = ("collect", "time", "--repeat", "1", "--warmup", "0", "--", "true")
    others = {"tempfile", "random", "ctypes", "typer", "typing_extensions", "attr", "pluggy", "inspect"} | {
        "hashlib",
        "ipaddress",
        "platform",
        "shutil",
        "socket",
        "textwrap",
    }
    _modules(_measured(project), *words)  # a process with these paths has compared the drivers with their kinds now
    assert _modules(project, *words) & others == set()


def test_the_measurement_of_a_command_imports_at_most_46_modules_of_the_core(project: Project) -> None:
    words = ("collect", "time", "--repeat", "1", "--warmup", "0", "--", "true")
    loaded = _of_the_core(_modules(_measured(project), *words))
    assert len(loaded) <= COLLECT, "\n".join(sorted(loaded))


def test_a_check_of_a_history_imports_at_most_55_modules_of_the_core(project: Project) -> None:
    """Once the values of the profiles are cached, as they are for all versions but the newest."""
    places = UserPlaces(project.home / "config.yml", project.home / "trusted", project.home / "trees")
    repository = Repository.open(project.path, places=places)
    for number in range(SHORT):
        version = project.commit(f"Version {number}")
        measured = replace(profiles.timed(), origin=version, created=profiles.CREATED + number)
        repository.register(Ref(kind="pending", pending=repository.save(measured)), version)
    project.perf("check", "all")
    loaded = _of_the_core(_modules(project, "check", "all"))
    assert len(loaded) <= CHECK, "\n".join(sorted(loaded))


def test_every_name_of_the_model_is_there_and_nothing_else() -> None:
    assert {name for name in model.__all__ if getattr(model, name) is None} == set()
    for names in model._PARTS.values():
        assert set(names) <= set(model.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'Porfile'"):
        model.Porfile  # type: ignore[attr-defined]  # noqa: B018


def test_a_second_command_does_not_ask_the_metadata_again(project: Project) -> None:
    """What is installed is remembered, with all that looking for it would import."""
    asking = {"stevedore", "email", "csv", "zipfile"}
    assert _loaded(project, "log") & asking
    for words in (("log",), ("status",), ("add", "--all")):
        assert not _loaded(project, *words) & asking


def test_versions_are_listed_without_attrs(project: Project) -> None:
    _loaded(project, "log")  # which looks for plugins and remembers them
    assert not _loaded(project, "log") & {"attr", "attrs"}


def test_measuring_needs_no_lock_of_another_package(project: Project) -> None:
    words = ("collect", "time", "--repeat", "1", "--warmup", "0", "--", "true")
    assert not _loaded(project, *words) & (HEAVY | {"perfcore_view_table", "perfcore_check_pair"})


def test_the_help_of_a_collector_needs_only_the_collector_and_later_not_even_that(project: Project) -> None:
    loaded = _loaded(project, "collect", "time", "--help")
    assert "perfcore_collect_time" in loaded
    assert not loaded & (HEAVY | {"perfcore_vcs_git", "perfcore_storage_local", "perfcore_view_table"})
    again = _loaded(project, "collect", "time", "--help")
    assert not again & (HEAVY | SLOW | NO_PLUGINS | {"perfcore_storage_local", "typer", "msgspec", "subprocess"})


def test_a_configuration_of_more_than_words_and_numbers_needs_the_parser(project: Project) -> None:
    project.write(".perfcore.yml", "workloads: [a, b]\n")
    assert "ruamel" in _loaded(project, "status")


def test_the_list_of_forbidden_packages_would_be_seen() -> None:
    script = "import sys, json, concurrent.futures; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=Path("/"))
    assert "concurrent" in {name.partition(".")[0] for name in loaded.stdout.split()} & HEAVY
