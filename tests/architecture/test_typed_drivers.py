"""Drivers have types: every kind is named by its constant, which gives `make` and `construct` the protocol."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import assert_type

import pytest

import perfcore
from perfcore import hookspecs
from perfcore.hookspecs import CHECK, KINDS, STORAGE, VCS, Check, Kind, Storage, Vcs
from perfcore.plugins import Plugins

ROOT = Path(perfcore.__file__).parents[1]
PACKAGES = (ROOT / "perfcore", *sorted(ROOT.glob("plugins/*/perfcore_*/")))


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_no_driver_is_made_by_the_name_of_its_kind(package: Path) -> None:
    untyped = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sorted(package.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("make", "construct")
        if node.args and isinstance(node.args[0], ast.Constant) and node.args[0].value in KINDS
    ]
    assert untyped == []


def test_every_protocol_has_one_kind() -> None:
    kinds = [value for value in vars(hookspecs).values() if isinstance(value, Kind)]
    assert sorted(kind.name for kind in kinds) == sorted(KINDS)
    assert len({kind.protocol for kind in kinds}) == len(kinds)


def types_of_drivers(plugins: Plugins, place: Path) -> None:
    """Read by the type checker alone."""
    assert_type(plugins.make(CHECK, "pair")[1], Check)
    assert_type(plugins.make(VCS, "git", place=place)[1], Vcs)
    assert_type(plugins.construct(STORAGE, "local", None, place=place)[1], Storage)
