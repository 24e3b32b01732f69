"""The promise to authors of plugins: misfits are refused by name, wrong groups are named, and a full name is safe."""

from __future__ import annotations

from pathlib import Path

import pytest
from perfcore_testing.distributions import Site

from perfcore.errors import PluginError
from perfcore.hookspecs import KINDS
from perfcore.hookspecs import VIEW as VIEWS
from perfcore.plugins import Plugins, installed

VIEW = "class View:\n    def render(self, subject, output): output.write('acme')\n"
COLLECTOR = """
class Stranger:
    def before(self, job): raise RuntimeError("a stranger")
    def collect(self, session, run): pass
    def after(self, session, outcome): pass
"""


def test_a_distribution_for_another_core_is_refused_by_name(site: Site) -> None:
    points = {"perfcore.view": ["acme = acme_view:View"]}
    site.install("acme-view", "2.5", points=points, requires=["perfcore-core>=7,<8"], acme_view=VIEW)
    with pytest.raises(PluginError, match="perfcore-core >=7,<8") as caught:
        Plugins().load("view", "acme")
    assert "acme-view 2.5" in str(caught.value)
    (described,) = (each for each in Plugins().describe(["view"]) if each.info.name == "acme")
    assert described.state == "broken"


def test_the_refusal_is_remembered_with_what_is_installed(site: Site, tmp_path: Path) -> None:
    points = {"perfcore.view": ["acme = acme_view:View"]}
    site.install("acme-view", points=points, requires=["perfcore-core>=7"], acme_view=VIEW)
    for _ in range(2):
        plugins = Plugins(memory=lambda: tmp_path / "installed")
        with pytest.raises(PluginError, match="perfcore-core >=7"):
            plugins.load("view", "acme")
        plugins.load("view", "table")  # a plugin that loads makes it remember


def test_a_group_that_is_none_is_named_with_the_nearest(site: Site) -> None:
    site.install(
        "acme-view", points={"perfcore.views": ["acme = acme_view:View"], "other.x": ["a = b"]}, acme_view=VIEW
    )
    (group,) = installed.unknown_groups()
    assert (group.group, group.names, group.distribution) == ("perfcore.views", ("acme",), "acme-view")
    assert group.nearest == "perfcore.view"
    warnings: list[str] = []
    with pytest.raises(PluginError):
        Plugins(warn=warnings.append).find("view", "acme")
    assert "did you mean 'perfcore.view'?" in warnings[0]


def test_a_full_name_finds_one_of_two(site: Site) -> None:
    site.install("acme-time", points={"perfcore.collector": ["time = acme_time:Stranger"]}, acme_time=COLLECTOR)
    plugins = Plugins()
    with pytest.raises(PluginError) as caught:
        plugins.load("collector", "time")
    assert "perfcore-collect-time:time" in (caught.value.hint or "")
    found, _ = plugins.load("collector", "perfcore-collect-time:time")
    assert (found.name, found.distribution) == ("time", "perfcore-collect-time")
    assert plugins.load("collector", "Acme_Time:time")[0].distribution == "acme-time"
    assert plugins.has("collector", "acme-time:time")
    assert not plugins.has("collector", "acme:time")
    assert not plugins.has("collector", ":time")


def test_a_full_name_disables_one_of_two(site: Site) -> None:
    site.install("acme-time", points={"perfcore.collector": ["time = acme_time:Stranger"]}, acme_time=COLLECTOR)
    assert Plugins(disabled=["acme-time:time"]).find("collector", "time").distribution == "perfcore-collect-time"


def test_the_time_of_an_import_is_known(site: Site) -> None:
    slow = f"import time\ntime.sleep(0.05)\n{VIEW}"
    site.install("acme-view", points={"perfcore.view": ["acme = acme_view:View"]}, acme_view=slow)
    (described,) = (each for each in Plugins().describe(["view"]) if each.info.name == "acme")
    assert described.seconds >= 0.05


def test_a_kind_and_its_name_make_the_same_driver() -> None:
    assert KINDS["view"] is VIEWS
    assert [type(Plugins().make(kind, "table")[1]).__name__ for kind in (VIEWS, "view")] == ["TableView"] * 2
