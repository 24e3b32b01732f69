"""A repository keeps its storage with the settings: whoever opens it later, in another process, finds the profiles."""

from __future__ import annotations

import pytest
from perfcore_testing.distributions import Site
from perfcore_testing.project import Project

_DRIVER = """
from pathlib import Path
import attrs
from perfcore.settings import option
from perfcore_storage_local import LocalStorage

@attrs.frozen
class Settings:
    folder: str = option("usual", help="Where.")
    patience: float = option(60.0, help="How long.", minimum=0)

class Shelf(LocalStorage):
    Settings = Settings

    def __init__(self, place: Path, settings: Settings) -> None:
        super().__init__(place / settings.folder)
"""
_MEASURE = ("collect", "time", "--repeat", "2", "--warmup", "0", "--add", "--", "true")


@pytest.fixture
def shelf(site: Site) -> Site:
    site.install("acme-shelf", points={"perfcore.storage": ["shelf = acme_shelf:Shelf"]}, acme_shelf=_DRIVER)
    return site


@pytest.fixture
def bare(empty_project: Project) -> Project:
    empty_project.git("init", "--quiet")
    empty_project.commit("First")
    return empty_project


def test_the_storage_and_its_options_are_kept(bare: Project, shelf: Site) -> None:
    bare.perf("init", "--storage", "shelf", "--storage-option", "folder=mine", "--storage-option", "patience=5")
    bare.perf(*_MEASURE)
    assert list((bare.path / ".perf/mine/objects").iterdir())
    assert not list((bare.path / ".perf/objects").iterdir())
    assert "true" in bare.perf("log").out
    assert "nothing is damaged" in bare.perf("fsck").err


def test_another_choice_of_the_user_is_for_new_repositories(bare: Project, shelf: Site) -> None:
    bare.perf("init", "--storage", "shelf", "--storage-option", "folder=mine")
    bare.perf(*_MEASURE)
    bare.perf("config", "set", "--user", "storage.name", "local")
    bare.perf("config", "set", "--user", "storage.shelf.patience", "7")
    assert "true" in bare.perf("log").out
    assert list((bare.path / ".perf/mine/objects").iterdir())


def test_a_storage_that_the_user_configured_is_kept(bare: Project, shelf: Site) -> None:
    bare.perf("config", "set", "--user", "storage.name", "shelf")
    bare.perf("config", "set", "--user", "storage.shelf.folder", "mine")
    bare.perf("init")
    bare.perf("config", "unset", "--user", "storage.name")
    bare.perf("config", "unset", "--user", "storage.shelf.folder")
    bare.perf(*_MEASURE)
    assert list((bare.path / ".perf/mine/objects").iterdir())


def test_a_missing_driver_is_named_with_its_distribution(bare: Project, shelf: Site) -> None:
    bare.perf("init", "--storage", "shelf")
    bare.perf(*_MEASURE)
    shelf.uninstall("acme-shelf")
    done = bare.perf("log", code=5)
    assert "acme-shelf:shelf" in done.err
    assert "pip install acme-shelf" in done.err
    shelf.install("acme-shelf", points={"perfcore.storage": ["shelf = acme_shelf:Shelf"]}, acme_shelf=_DRIVER)
    assert "true" in bare.perf("log").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--storage", "nowhere"), "no storage 'nowhere'"),
        (("--storage", "shelf", "--storage-option", "foldr=x"), "folder"),
        (("--storage", "shelf", "--storage-option", "patience=-1"), "patience"),
        (("--storage-option", "patience"), "KEY=VALUE"),
    ],
)
def test_a_storage_that_cannot_be_used_makes_no_repository(
    bare: Project, shelf: Site, words: tuple[str, ...], said: str
) -> None:
    done = bare.perf("init", *words, code=None)
    assert done.code != 0
    assert said in done.err
    assert not (bare.path / ".perf").exists()
