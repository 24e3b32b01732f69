"""Commands of plugins: what they are given, and commands that stand below a verb of perfcore."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from perfcore_testing.distributions import Site

from perfcore.errors import PluginError
from perfcore.library import History
from perfcore.plugins.installed import COMMANDS

if TYPE_CHECKING:
    from .conftest import Here

SOURCE = '''
import typer

class Hello:
    """Greet the head."""
    def app(self):
        app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
        @app.command(help=self.__doc__)
        def hello(ctx: typer.Context, times: int = typer.Option(1, help="How often.")):
            context = ctx.obj
            for _ in range(times):
                context.line(f"hello {context.history.version()}")
            context.json({
                "collectors": list(context.plugins.names("collector")),
                "check": context.config.get("check.name"),
                "directory": str(context.directory),
            })
        return app
'''


@pytest.fixture
def acme(site: Site) -> Site:
    points = {"perfcore.command": ["hello = acme_hello:Hello", "plugins.hello = acme_hello:Hello"]}
    site.install("acme-hello", points=points, acme_hello=SOURCE)
    return site


def test_a_command_gets_the_library_the_plugins_and_the_configuration(here: Here, acme: Site) -> None:
    done = here.real.perf("hello", env=acme.env)
    assert done.lines[0] == f"hello {here.head}"
    assert '"time"' in done.out
    assert '"pair"' in done.out


def test_a_name_with_a_dot_stands_below_its_verb(here: Here, acme: Site) -> None:
    assert here.real.perf("plugins", "hello", "--times", "2", env=acme.env).out.count("hello ") == 2
    shown = here.real.perf("plugins", "hello", "--help", env=acme.env).out
    assert shown.startswith("Usage: perf plugins hello ")
    assert "How often." in shown
    listed = here.real.perf("plugins", "--help", env=acme.env).out
    assert "Greet the head." in listed
    assert "plugins.hello" not in here.real.perf("--help", env=acme.env).out
    assert "no command 'plugins.hello'" in here.real.perf("plugins.hello", env=acme.env, code=2).err


def test_what_stands_below_a_verb_is_suggested_and_completed(here: Here, acme: Site) -> None:
    assert "did you mean 'hello'?" in here.real.perf("plugins", "helo", env=acme.env, code=2).err
    words = {"_PERF_COMPLETE": "complete_bash", "COMP_WORDS": "perf plugins he", "COMP_CWORD": "2"}
    assert "hello" in here.real.perf(env={**acme.env, **words}, code=None).out


def test_a_command_that_is_not_installed_is_named_with_its_distribution(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(COMMANDS, "ghost", "perfcore-command-ghost")
    monkeypatch.setitem(COMMANDS, "plugins.ghost", "perfcore-ghosts")
    assert "hint: pip install perfcore-command-ghost" in here.perf("ghost", code=2).err
    assert "hint: pip install perfcore-ghosts" in here.perf("plugins", "ghost", code=2).err
    here.perf("config", "set", "plugins.disabled", "[perfcore-command-diff]")
    assert "no command 'diff'\n  hint: perfcore-command-diff is disabled" in here.perf("diff", code=2).err
    with pytest.raises(PluginError, match="ghost is not installed") as error:
        History(here.repository).command("ghost")
    assert error.value.hint == "pip install perfcore-command-ghost"


def test_no_plugins_leaves_the_commands_of_perfcore_itself_in(here: Here, acme: Site) -> None:
    chapters = here.real.perf("--no-plugins", "--help", env=acme.env).out
    assert "  diff " in chapters
    assert "From plugins:" not in chapters
    assert "perf plugins check" in here.perf("--no-plugins", "plugins", "check", "--help").out


def test_no_plugins_leaves_what_stands_below_a_verb_out(here: Here, acme: Site) -> None:
    assert "hello" not in here.real.perf("--no-plugins", "plugins", "--help", env=acme.env).out
    assert "no command 'hello'" in here.real.perf("--no-plugins", "plugins", "hello", env=acme.env, code=2).err


def test_a_command_of_the_verb_itself_wins(here: Here, site: Site) -> None:
    site.install("acme-list", points={"perfcore.command": ["plugins.list = acme_l:Hello"]}, acme_l=SOURCE)
    assert "collector" in here.real.perf("plugins", "list", env=site.env).out


def test_a_broken_command_does_not_hide_the_help_of_the_others(here: Here, site: Site) -> None:
    points = {"perfcore.command": ["plugins.boom = acme_boom:Boom"]}
    site.install("acme-boom", points=points, acme_boom="raise RuntimeError('broken')")
    listed = here.real.perf("plugins", "--help", env=site.env).out
    assert "cannot be used" in listed
    assert "  list " in listed
    assert "acme-boom" in here.real.perf("plugins", "boom", env=site.env, code=5).err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("ack",), "did you mean `perf check ack`?"),
        (("triage",), "did you mean `perf check triage`?"),
        (("accept",), "`perf --help` lists them"),
        (("reset",), "`perf --help` lists them"),
        (("config", "list"), "`perf config --help` lists them"),
        (("lgo",), "did you mean 'log'?"),
        (("plugins", "check", "collector:wall"), "pip install -e FOLDER"),
    ],
)
def test_a_hint_names_a_command_that_is_meant_or_none(here: Here, words: tuple[str, ...], hint: str) -> None:
    assert hint in here.perf(*words, code=None).err
