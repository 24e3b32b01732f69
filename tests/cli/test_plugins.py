"""`perf plugins`, and how plugins are left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from perfcore_testing import hostile
from perfcore_testing.distributions import Site

if TYPE_CHECKING:
    from .conftest import Here

SOURCE = '''
import typer
from perfcore.settings import option
import attrs

@attrs.frozen
class Settings:
    size: int = option(3, help="How large it is.", unit="B")

class View:
    """Shows \x1b[31mlittle."""
    Settings = Settings
    def __init__(self, settings): pass
    def render(self, subject, output): pass

class Hello:
    """Says hello."""
    def app(self):
        app = typer.Typer()
        @app.command()
        def hello(): print("hello")
        return app
'''


@pytest.fixture
def acme(site: Site) -> Site:
    points = {
        "perfcore.view": ["acme = acme_view:View", "lost = acme_view:Nothing"],
        "perfcore.command": ["hello = acme_view:Hello"],
    }
    site.install("acme-view", "2.5", points=points, acme_view=SOURCE)
    return site


def test_list_tells_what_works_and_what_does_not(here: Here, acme: Site) -> None:
    done = here.real.perf("plugins", "list", env=acme.env)
    rows = {tuple(line.split()[:2]): line for line in done.lines}
    assert "perfcore-collect-time" in rows["collector", "time"]
    assert "acme-view 2.5" in rows["view", "acme"]
    assert "broken" in rows["view", "lost"]
    assert hostile.unsafe(done.out) == set()


def test_list_can_be_narrowed_to_a_kind_and_read_by_a_program(here: Here) -> None:
    listed = here.perf("plugins", "list", "format", "--json").json
    assert listed["schema"] == 1
    assert {row["kind"] for row in listed["plugins"]} == {"format"}
    assert "perf" in {row["name"] for row in listed["plugins"]}
    assert "did you mean 'view'?" in here.perf("plugins", "list", "veiw", code=2).err


def test_show_tells_the_options_of_one(here: Here) -> None:
    out = here.perf("plugins", "show", "time").out
    assert "collector time" in out
    assert "--timeout" in out
    shown = here.perf("plugins", "show", "collector:time", "--json").json
    assert shown["schema"] == 1
    assert {"timeout", "cpus"} <= {option["name"] for option in shown["plugins"][0]["options"]}
    assert "did you mean 'time'?" in here.perf("plugins", "show", "tmie", code=3).err


def test_they_work_outside_of_a_repository(bare: Here) -> None:
    assert "collector" in bare.perf("plugins", "list").out


def test_commands_of_plugins_stand_beside_the_verbs(here: Here, acme: Site) -> None:
    assert here.real.perf("hello", env=acme.env).out == "hello\n"
    assert "hello" in here.real.perf("--help", env=acme.env).out


def test_no_plugins_leaves_commands_of_plugins_out(here: Here, acme: Site) -> None:
    assert "no command 'hello'" in here.real.perf("--no-plugins", "hello", env=acme.env, code=2).err
    assert "hello" not in here.real.perf("--no-plugins", "--help", env=acme.env).out


def test_a_plugin_is_disabled_by_the_environment_and_by_the_configuration(here: Here, acme: Site) -> None:
    here.register()
    assert here.real.perf("show", "0@i", "acme", env=acme.env).code == 0
    for name in ("acme-view", "acme_view", "view:acme", "acme"):
        done = here.real.perf("show", "acme", "0@i", env={**acme.env, "PERF_DISABLED_PLUGINS": name}, code=None)
        assert done.code not in (0, 1, 70), name
    here.perf("config", "set", "plugins.disabled", "[acme-view]")
    assert "disabled" in here.real.perf("plugins", "show", "view:acme", env=acme.env).out
    assert "no command 'hello'" in here.real.perf("hello", env=acme.env, code=2).err


def test_a_broken_plugin_disturbs_only_what_uses_it(here: Here, site: Site) -> None:
    points = {
        "perfcore.vcs": ["acme = acme_broken:Vcs"],
        "perfcore.command": ["boom = acme_broken:Boom"],
        "perfcore.hooks": ["check_done:acme = acme_broken:seen"],
    }
    site.install("acme-broken", points=points, acme_broken="raise RuntimeError('broken')")
    for words in (("status",), ("log",), ("--help",), ("config", "get"), ("fsck",)):
        assert "Traceback" not in here.real.perf(*words, env=site.env).err
    done = here.real.perf("boom", env=site.env, code=5)
    assert "acme-broken" in done.err


def test_two_of_one_name_are_an_error_naming_both(here: Here, acme: Site) -> None:
    acme.install("acme-other", points={"perfcore.view": ["acme = acme_view:View"]})
    here.register()
    done = here.real.perf("show", "0@i", "acme", env=acme.env, code=5)
    assert "acme-view 2.5" in done.err
    assert "acme-other 1.0" in done.err
    assert "conflict" in here.real.perf("plugins", "list", "view", env=acme.env).out


def test_the_list_has_import_times_the_version_of_the_contracts_and_unknown_groups(here: Here, acme: Site) -> None:
    acme.install("acme-typo", points={"perfcore.colector": ["x = acme_view:View"]})
    listed = here.real.perf("plugins", "list", "--json", env=acme.env).json
    assert listed["api"] == 1
    (group,) = listed["unknown_groups"]
    assert (group["distribution"], group["nearest"]) == ("acme-typo", "perfcore.collector")
    rows = {row["full_name"]: row for row in listed["plugins"]}
    assert rows["acme-view:acme"]["import_seconds"] > 0
    done = here.real.perf("plugins", "list", "view", "--times", env=acme.env)
    assert all(" ms " in line for line in done.lines)
    assert "acme-typo" in done.err


def test_a_stranger_of_the_same_name_cannot_keep_a_shipped_collector_from_its_work(here: Here, site: Site) -> None:
    stranger = "class Stranger:\n" + "".join(
        f"    def {method}: raise RuntimeError('a stranger')\n"
        for method in ("before(self, job)", "collect(self, session, run)", "after(self, session, outcome)")
    )
    words = ("--repeat", "1", "--warmup", "0", "--", "true")
    here.real.perf("collect", "time", *words)
    site.install("acme-time", points={"perfcore.collector": ["time = acme_time:Stranger"]}, acme_time=stranger)
    assert "perfcore-collect-time:time" in here.real.perf("collect", "time", *words, env=site.env, code=5).err
    here.real.perf("collect", "perfcore-collect-time:time", *words, env=site.env)
    first, second = here.perf("status", "--json").json["pending"]
    assert first["collector"] == second["collector"] == "time"
    config_ids = [pending.profile.config_id for pending in here.repository.pending() if pending.profile]
    assert len(config_ids) == 2
    assert config_ids[0] == config_ids[1]


def test_without_perfcore_testing_its_commands_name_the_distribution(here: Here) -> None:
    for word in ("new", "check"):
        done = here.real.perf("plugins", word, env={"PERF_DISABLED_PLUGINS": "perfcore-testing"}, code=2)
        assert "perfcore-testing is disabled" in done.err
