"""Which word of a command line is the plugin. The commands' own tests have the rest."""

from __future__ import annotations

import pytest
from perfcore_command_kit.plugin_options import split_plugin

from perfcore.errors import UsageError
from perfcore.plugins.registry import Plugins


def test_the_plugin_is_the_first_word_that_is_one_and_no_value_of_an_option() -> None:
    plugins = Plugins()
    assert split_plugin(["0@p", "table", "--head", "5"], plugins, "view", None) == ("table", ["0@p", "--head", "5"])
    assert split_plugin(["0@p", "--by", "table"], plugins, "view", "table") == ("table", ["0@p", "--by", "table"])
    assert split_plugin(["0@p", "--by=x", "table"], plugins, "view", None) == ("table", ["0@p", "--by=x"])


def test_without_a_plugin_the_nearest_is_proposed() -> None:
    with pytest.raises(UsageError, match="say which view: none of these is one: tabel") as raised:
        split_plugin(["tabel", "--head"], Plugins(), "view", None)
    assert raised.value.hint == "did you mean 'table'?"
