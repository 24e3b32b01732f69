"""The code of templates is kept as Python keeps that of modules, and is never believed too much."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from jinja2 import Environment, FileSystemLoader
from perfcore_site_kit.compiled import CompiledTemplates


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of templates, whose code is kept beside them."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    (tmp_path / "page.html").write_text("{{ name }} is here\n")
    return tmp_path


def _rendered(folder: Path, options: object = "") -> str:
    environment = Environment(loader=FileSystemLoader(folder), bytecode_cache=CompiledTemplates(options))
    return environment.get_template("page.html").render(name="Ann")


def _kept(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("__pycache__/*")}


def test_code_that_is_kept_is_used_again(folder: Path) -> None:
    assert _rendered(folder) == "Ann is here"
    (path,) = folder.glob("__pycache__/page.*.pyc")
    before = path.stat().st_mtime_ns
    assert _rendered(folder) == "Ann is here"
    assert path.stat().st_mtime_ns == before


def test_code_of_another_text_or_of_other_options_is_not_used(folder: Path) -> None:
    _rendered(folder)
    kept = _kept(folder)
    (folder / "page.html").write_text("{{ name }} was here\n")
    assert _rendered(folder) == "Ann was here"
    assert _kept(folder) != kept
    kept = _kept(folder)
    _rendered(folder, "other options")
    assert _kept(folder) != kept


@pytest.mark.parametrize("at", [0, 30, -1])
def test_code_that_is_damaged_is_made_again(folder: Path, at: int) -> None:
    _rendered(folder)
    kept = _kept(folder)
    (path,) = folder.glob("__pycache__/page.*.pyc")
    damaged = bytearray(path.read_bytes())
    damaged[at] ^= 1
    path.write_bytes(damaged)
    assert _rendered(folder) == "Ann is here"
    assert _kept(folder) == kept


def test_nothing_is_kept_where_python_keeps_no_code(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert _rendered(folder) == "Ann is here"
    assert _kept(folder) == {}
