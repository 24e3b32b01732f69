"""What is remembered of the plugins is what the metadata say, or is not believed."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from perfcore_testing.distributions import Site

from perfcore.errors import PluginError
from perfcore.plugins import Plugins, installed
from perfcore.plugins.drivers import code_stamp
from perfcore.plugins.installed import PluginInfo

if TYPE_CHECKING:
    from pathlib import Path

BASE = "class Base:\n    def render(self, subject, output): ...\n"
VIEW = "class View:\n    def render(self, subject, output): ...\n"


def acme(site: Site, version: str = "1.0", module: str = "acme", **more: str) -> Path:
    points = {"perfcore.view": [f"acme = {module}:View"]}
    return site.install("acme-perf", version, points=points, **{module: VIEW}, **more)


def remember(place: Path) -> None:
    installed.remember(place, installed.Remembered(installed.announced()))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "installed"


def test_it_is_what_the_metadata_say(site: Site, place: Path) -> None:
    classifiers = ["Operating System :: POSIX :: Linux", "Topic :: Software Development"]
    site.install("acme-perf", points={"perfcore.view": ["acme = acme:View"]}, classifiers=classifiers, acme=VIEW)
    assert installed.recall(place) is None
    remember(place)
    found = installed.recall(place)
    assert found is not None
    assert found.plugins == installed.announced()
    assert [each.systems for each in found.plugins["view"] if each.name == "acme"] == [("POSIX :: Linux",)]


@pytest.mark.parametrize("change", ["another", "newer", "gone", "edited", "shadowed"])
def test_it_is_forgotten_when_something_is_installed_or_removed(
    site: Site, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    info = acme(site)
    remember(place)
    assert installed.recall(place) is not None
    if change == "another":
        site.install("other-perf", points={"perfcore.view": ["other = acme:View"]})
    elif change == "newer":
        site.uninstall("acme-perf")
        acme(site, "2.0")
    elif change == "gone":
        site.uninstall("acme-perf")
    elif change == "edited":
        (info / "entry_points.txt").write_text("[perfcore.view]\nacme2 = acme:View\n")
    else:
        monkeypatch.syspath_prepend(tmp_path)
    assert installed.recall(place) is None
    remember(place)
    assert installed.recall(place) == installed.Remembered(installed.announced())


def test_another_interpreter_or_environment_has_its_own(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(place)
    monkeypatch.setattr(sys, "prefix", "/elsewhere")
    assert installed.recall(place) is None


def test_those_of_many_folders_do_not_pile_up(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(60):
        monkeypatch.setattr(sys, "prefix", f"/{number}")
        installed.remember(place, installed.Remembered({}))
    assert len(list(place.iterdir())) == 50
    assert installed.recall(place) is not None


def test_what_comes_from_elsewhere_than_folders_is_not_remembered(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Finder:
        @staticmethod
        def find_distributions(*arguments: object) -> tuple[()]:
            return ()

    remember(place)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder])
    assert installed.recall(place) is None
    remember(place / "other")
    assert not (place / "other").exists()


def test_a_backport_of_the_metadata_finds_in_the_same_folders(place: Path) -> None:
    """Dask brings importlib_metadata, which is imported in a process of its own: it changes Python's finder."""
    read = "from perfcore.plugins import installed; from pathlib import Path; import sys; place = Path(sys.argv[1])"
    save = "import importlib_metadata; installed.remember(place, installed.Remembered(installed.announced()))"
    check = "print(installed.recall(place) is not None)"
    done = subprocess.run(
        [sys.executable, "-c", f"{read}; {save}; {check}", str(place)], capture_output=True, text=True
    )
    assert done.stdout == "True\n", done.stderr


def test_a_damaged_file_is_not_believed(place: Path) -> None:
    remember(place)
    (path,) = place.iterdir()
    whole = path.read_bytes()
    for data in (b"", whole[:-1], whole[: len(whole) // 2], b"[]", b"\xff\xfe", whole + b"x", b"a\nb"):
        path.write_bytes(data)
        assert installed.recall(place) is None
    path.write_bytes(whole.replace(b"view", b"viewer"))
    assert installed.recall(place) is None


def test_a_place_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    remember(tmp_path / "file" / "below")
    assert installed.recall(tmp_path / "file" / "below") is None


def test_nothing_unfinished_is_left(place: Path) -> None:
    remember(place)
    (path,) = place.iterdir()
    path.unlink()
    path.mkdir()
    (path / "something").write_text("")
    remember(place)
    assert list(place.iterdir()) == [path]


def test_a_second_command_finds_what_the_first_has_found(site: Site, place: Path) -> None:
    acme(site)
    first = Plugins(memory=lambda: place).load("view", "acme")
    assert len(os.listdir(place)) == 1
    assert Plugins(memory=lambda: place).load("view", "acme") == first
    assert Plugins(memory=lambda: place).names("view") == Plugins().names("view")


def test_a_memory_that_is_wrong_is_corrected(site: Site, place: Path) -> None:
    """The target has moved without a trace in the metadata's files, which only a forger can bring about."""
    info = acme(site)
    moved = [each._replace(target="gone:View") for each in installed.announced()["view"] if each.name == "acme"]
    installed.remember(place, installed.Remembered({"view": tuple(moved)}))
    (path,) = place.iterdir()
    assert b"gone:View" in path.read_bytes()
    found, driver = Plugins(memory=lambda: place).load("view", "acme")
    assert (found.target, driver.__module__) == ("acme:View", "acme")
    assert b"gone:View" not in path.read_bytes()
    assert info.is_dir()


def test_a_text_that_holds_what_separates_texts_is_not_remembered(place: Path) -> None:
    for text in ("a\nb", "a\0b"):
        info = PluginInfo("view", "acme", "acme:View", text, "1.0")
        installed.remember(place, installed.Remembered({"view": (info,)}))
        assert installed.recall(place) is None
    installed.remember(place, installed.Remembered({"view": (info._replace(distribution="\udcff"),)}))
    assert installed.recall(place) is not None


def test_a_driver_is_compared_with_its_contract_once(site: Site, place: Path) -> None:
    acme(site, misfit="class View: ...\n")
    Plugins(memory=lambda: place).load("view", "acme")
    memory = installed.recall(place)
    assert memory is not None
    assert list(memory.fitting) == ["view:acme:View"]
    (info,) = (info for info in memory.plugins["view"] if info.name == "acme")
    stamp = code_stamp(importlib.import_module("misfit").View)
    forged = {**memory.plugins, "view": (info._replace(target="misfit:View"),)}
    installed.remember(place, installed.Remembered(forged, {"view:misfit:View": stamp}))
    assert Plugins(memory=lambda: place).load("view", "acme")[1].__module__ == "misfit"
    installed.remember(place, installed.Remembered(forged, {"view:misfit:View": "another"}))
    assert Plugins(memory=lambda: place).load("view", "acme")[1].__module__ == "acme"


def test_a_driver_whose_code_was_changed_is_compared_again(site: Site, place: Path) -> None:
    derived = "from base import Base\nclass View(Base): ...\n"
    site.install("acme-perf", points={"perfcore.view": ["acme = derived:View"]}, base=BASE, derived=derived)
    Plugins(memory=lambda: place).load("view", "acme")
    Plugins(memory=lambda: place).load("view", "acme")
    (site.path / "base.py").write_text(BASE.replace("subject, output", "subject"))
    for name in ("base", "derived"):
        sys.modules.pop(name)
    importlib.invalidate_caches()
    with pytest.raises(PluginError, match="does not fit the kind view"):
        Plugins(memory=lambda: place).load("view", "acme")


def test_disabled_and_rival_plugins_stay_so(site: Site, place: Path) -> None:
    acme(site)
    site.install("other-perf", points={"perfcore.view": ["acme = acme:View"]})
    remember(place)
    with pytest.raises(PluginError, match=r"acme-perf.*other-perf"):
        Plugins(memory=lambda: place).load("view", "acme")
    with pytest.raises(PluginError, match="disabled"):
        Plugins(memory=lambda: place, disabled=("acme",)).load("view", "acme")
    assert Plugins(memory=lambda: place, disabled=("other-perf",)).load("view", "acme")[0].distribution == "acme-perf"
