"""Options of a plugin beside those of a verb."""

from __future__ import annotations

from typing import Annotated, Any

import attrs
import pytest
import typer

from perfcore.cli.options import EachNth, Since, with_options
from perfcore.config.settings import options_of
from perfcore.errors import PluginError
from perfcore.plugins.installed import PluginInfo
from perfcore.settings import option

PLUGIN = PluginInfo(kind="collector", name="mine", target="mine:Mine", distribution="mine", version="1")


@attrs.frozen
class Settings:
    since: str = option("", help="A moment.")
    nth: int = option(1, help="A number.", flags=("-n", "--every"))
    depth: int = option(1, help="A depth.")
    other: int = option(1, help="Another one.", flags=("--depth",))


def verb(
    *, since: Since = None, every: EachNth = 1, quiet: Annotated[bool | None, typer.Option("--quiet", "-q")] = None,
    values: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    return values


@pytest.mark.parametrize(("name", "flag"), [("since", "--since"), ("nth", "--every")])
def test_a_plugin_cannot_take_an_option_of_the_verb(name: str, flag: str) -> None:
    (taken,) = (each for each in options_of(Settings) if each.name == name)
    with pytest.raises(PluginError, match=f"its option {flag} is there already"):
        with_options(verb, [taken], PLUGIN)


def test_a_plugin_cannot_have_an_option_twice() -> None:
    twice = [each for each in options_of(Settings) if each.name in ("depth", "other")]
    with pytest.raises(PluginError, match="its option --depth is there already"):
        with_options(verb, twice, PLUGIN)


def test_other_options_stand_behind_those_of_the_verb() -> None:
    (depth,) = (each for each in options_of(Settings) if each.name == "depth")
    assert with_options(verb, [depth], PLUGIN)(option_depth="2") == {"depth": "2"}
