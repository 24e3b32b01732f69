"""`perf plugins new`: what it writes works as it is."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from perfcore_testing.kit import scaffold
from perfcore_testing.kit.names import LONGEST, named
from perfcore_testing.project import Project

from perfcore.errors import PluginError, UsageError
from perfcore.hookspecs import KINDS
from perfcore.plugins import Plugins
from perfcore.plugins.installed import HOOK

if TYPE_CHECKING:
    from .conftest import Generated

ALL = (*KINDS, HOOK)
ROOT = Path(__file__).parents[4]
posix = pytest.mark.skipif(os.name != "posix", reason="the environment has the folders of a POSIX system")

HOSTILE = (
    *("", " ", "-x", "--help", "A", "Wall", "my wall", "a/b", "../x", "a.b", "a--b", "a-", "_a", "1a", "a\nb", "a'b"),
    *("\x1b[31m", "<script>", "ž", "a" * (LONGEST + 1), "class", "import", "a\0", "$(touch x)", "a:b"),
)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_that_would_not_do_is_refused(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        named("collector", name)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("name", ["a", "my-wall", "my_wall", "x2", "session", "settings", "a" * LONGEST])
def test_the_names_of_a_plugin_follow_from_one(name: str) -> None:
    plugin = named("collector", name)
    assert plugin.package.isidentifier()
    assert plugin.capitalized.isidentifier()
    assert plugin.package == plugin.distribution.replace("-", "_")


def test_a_kind_that_there_is_not_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError) as caught:
        named("collecter", "wall")
    assert "collector" in (caught.value.hint or "")
    assert named("hooks", "wall").kind == HOOK


@pytest.mark.parametrize("kind", KINDS)
def test_its_distribution_is_called_as_the_hint_for_a_missing_one_says(kind: str) -> None:
    with pytest.raises(PluginError) as caught:
        Plugins().find(kind, "zzz")
    assert (caught.value.hint or "").endswith(f" {named(kind, 'zzz').distribution}")


@pytest.mark.parametrize("kind", ALL)
def test_nothing_of_the_template_is_left(kind: str) -> None:
    made = scaffold.files(named(kind, "zzz"))
    for path, text in made.items():
        assert "acme" not in (path + text).lower(), path
        assert "{" not in text or path.endswith(".py"), path
    assert {"pyproject.toml", "README.md", "tests/test_contract.py"} <= set(made)


@pytest.mark.parametrize("name", ["a", "a" * LONGEST, "a-b-" * (LONGEST // 4 - 1) + "c"])
def test_a_plugin_of_any_name_is_formatted(name: str, tmp_path: Path) -> None:
    if find_spec("ruff") is None:
        pytest.skip("ruff is not installed beside this interpreter")
    for kind in ALL:
        scaffold.write(tmp_path / kind, scaffold.files(named(kind, name)))
    project = Project(tmp_path, tmp_path / "home")
    for command in (("check",), ("format", "--check")):
        done = project.run(sys.executable, "-m", "ruff", *command, "--no-cache", ".")
        assert done.code == 0, done


def test_nothing_is_overwritten(tmp_path: Path, empty_project: Project) -> None:
    (empty_project.path / "there").mkdir()
    (empty_project.path / "file").write_text("mine")
    (empty_project.path / "lost").symlink_to(tmp_path / "nowhere")
    for place in ("there", "file", "lost"):
        assert "is there already" in empty_project.perf("plugins", "new", "view", "x", "--dir", place, code=2).err
    assert sorted(path.name for path in empty_project.path.iterdir()) == ["file", "lost", "there"]
    assert (empty_project.path / "file").read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()


def test_a_name_that_is_taken_is_refused(empty_project: Project) -> None:
    assert "perfcore-collect-time" in empty_project.perf("plugins", "new", "collector", "time", code=2).err
    assert "perfcore's own" in empty_project.perf("plugins", "new", "command", "log", code=2).err
    assert list(empty_project.path.iterdir()) == []


def test_the_folder_can_be_chosen_and_what_comes_next_is_told(empty_project: Project) -> None:
    done = empty_project.perf("plugins", "new", "view", "x", "--dir", "my 'own'/place")
    assert (empty_project.path / "my 'own'" / "place" / "perfcore_view_x" / "view.py").is_file()
    assert "perf plugins check view:x" in done.err


@posix
def test_all_are_found_and_work(generated: Generated) -> None:
    listed = generated.perf("plugins", "list", "--json").json["plugins"]
    mine = [row for row in listed if row["distribution"].endswith("-my-wall2")]
    assert {row["kind"] for row in mine} == set(ALL)
    assert {row["state"] for row in mine} == {"ok"}, mine
    assert all(row["help"] for row in mine)
    assert all(row["options"] for row in mine if row["kind"] not in (HOOK, "report", "set", "source"))


@posix
@pytest.mark.parametrize("kind", ALL)
def test_its_own_tests_pass(generated: Generated, kind: str, in_memory: Path) -> None:
    # Those that kill writers of a storage and count up for a minute are left to the contract's own tests.
    calm = "not killed and not increment and not while and not add_up and not collected"
    done = generated.run(kind, "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={in_memory}/tests", "-k", calm)
    assert done.code == 0, done


@posix
def test_all_pass_a_strict_type_checker(generated: Generated) -> None:
    if find_spec("mypy") is None:
        pytest.skip("mypy is not installed beside this interpreter")
    folders = [generated.folder(kind) for kind in ALL]
    packages = [str(next(folder.glob("perfcore_*"))) for folder in folders]
    own = os.pathsep.join([str(ROOT), str(ROOT / "plugins" / "testing"), *map(str, folders)])
    done = generated.project.run(
        *(sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", *packages),
        env={"MYPYPATH": own, "PYTHONWARNINGS": ""},
    )
    assert done.code == 0, done
