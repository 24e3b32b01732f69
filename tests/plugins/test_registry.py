"""Plugins are found, loaded, refused, made and blocked by what real metadata say. See `tests/cli/test_plugins.py` for
the same from the command line, and `tests/test_observers.py` for what wraps them."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from perfcore_testing.distributions import Site

from perfcore.errors import PluginError, UsageError
from perfcore.hookspecs import KINDS
from perfcore.plugins import Plugins, installed
from perfcore.plugins.description import owner_of
from perfcore.plugins.drivers import misfits
from perfcore.plugins.stevedore_driver import find_driver

VIEW = """
class View:
    '''Shows nothing.

    At all.'''
    def render(self, subject, output): ...
"""


def install_view(site: Site, name: str = "acme-perf", version: str = "1.0", *, point: str = "acme") -> None:
    module = name.replace("-", "_")
    site.install(name, version, points={"perfcore.view": [f"{point} = {module}:View"]}, **{module: VIEW})


def described(kind: str, name: str, **options: object) -> tuple[str, str]:
    """(state, reason) of the only plugin of this name."""
    plugins = Plugins(**options)  # type: ignore[arg-type]
    (found,) = (d for d in plugins.describe([kind]) if d.info.name == name)
    return found.state, found.reason


# Finding


def test_names_come_from_metadata_without_an_import(site: Site) -> None:
    site.install("acme-perf", points={"perfcore.view": ["acme = acme:View"]}, acme="raise RuntimeError")
    assert "acme" in Plugins().names("view")
    assert str(Plugins().find("view", "acme")) == "view 'acme' (acme-perf 1.0)"
    assert "acme" not in sys.modules


@pytest.mark.parametrize("name", ["acme", "view:acme", "acme-perf:acme"])
def test_a_plugin_is_described_without_an_import_of_others(site: Site, name: str) -> None:
    install_view(site)
    install_view(site, "other-perf", point="other")
    assert [(d.info.full_name, d.state) for d in Plugins().describe(name=name)] == [("acme-perf:acme", "ok")]
    assert "other_perf" not in sys.modules


def test_a_plugin_is_loaded_with_what_its_distribution_says(site: Site) -> None:
    install_view(site, version="2.7.1rc1")
    found, driver = Plugins().load("view", "acme")
    assert (found.kind, found.name, found.distribution, found.version) == ("view", "acme", "acme-perf", "2.7.1rc1")
    assert found.target == "acme_perf:View"
    assert driver is sys.modules["acme_perf"].View


def test_what_is_not_there_is_told_with_the_nearest(site: Site) -> None:
    install_view(site, point="flames")
    with pytest.raises(PluginError) as caught:
        Plugins().load("view", "flmes")
    assert caught.value.message == "there is no view 'flmes'"
    assert caught.value.hint == "did you mean 'flames'? it may be in a distribution such as perfcore-view-flmes"


def test_what_is_among_the_sources_is_installed_from_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No index may have it, and the folder may have any name."""
    sources = tmp_path / "my sources"
    (sources / "plugins/view-ghost").mkdir(parents=True)
    (sources / "plugins/view-ghost/pyproject.toml").touch()
    monkeypatch.setattr(installed, "__file__", str(sources / "perfcore/plugins/installed.py"))
    with pytest.raises(PluginError) as caught:
        Plugins().load("view", "ghost")
    assert (caught.value.hint or "").endswith(f" this one: pip install -e '{sources}/plugins/view-ghost'")
    assert installed.requirement("perfcore-view-other") == "perfcore-view-other"


def test_a_plugin_that_was_removed_is_not_there(site: Site) -> None:
    install_view(site)
    Plugins().load("view", "acme")
    site.uninstall("acme-perf")
    with pytest.raises(PluginError, match="there is no view 'acme'"):
        Plugins().load("view", "acme")


def test_two_distributions_of_one_name_are_an_error_naming_both(site: Site) -> None:
    install_view(site, "acme-perf", "1.0")
    install_view(site, "other-perf", "2.0")
    install_view(site, "third-perf", point="fine")
    with pytest.raises(PluginError) as caught:
        Plugins().load("view", "acme")
    assert caught.value.message == "several distributions bring a view 'acme': acme-perf 1.0 and other-perf 2.0"
    assert Plugins().load("view", "fine")[0].distribution == "third-perf"
    (first, second) = (d for d in Plugins().describe(["view"]) if d.info.name == "acme")
    assert (first.state, first.reason) == ("conflict", "also brought by other-perf 2.0")
    assert (second.state, second.reason) == ("conflict", "also brought by acme-perf 1.0")


def test_disabling_one_of_two_decides(site: Site) -> None:
    install_view(site, "acme-perf")
    install_view(site, "other-perf")
    plugins = Plugins(disabled=["acme-perf"])
    assert plugins.load("view", "acme")[0].distribution == "other-perf"
    assert [d.state for d in plugins.describe(["view"]) if d.info.name == "acme"] == ["disabled", "ok"]


def test_one_distribution_with_two_of_one_name_is_an_error(site: Site) -> None:
    lines = ["acme = acme:View", "acme = acme:Other"]
    site.install("acme-perf", points={"perfcore.view": lines}, acme=VIEW + "class Other(View): ...")
    with pytest.raises(PluginError, match=r"acme-perf 1.0 brings more than one view 'acme': acme:Other and acme:View"):
        Plugins().load("view", "acme")


def test_the_distribution_is_found_whatever_the_package_is_called(site: Site) -> None:
    """The distribution that is called like the package is the usual one, and need not be the one."""
    site.install("acme", points={"perfcore.view": ["unrelated = acme:View"]}, acme=VIEW)
    site.install("what-else", "3.0", points={"perfcore.view": ["mine = acme:View"]})
    assert Plugins().load("view", "mine")[0].distribution == "what-else"


def test_a_distribution_that_is_half_removed_disturbs_nobody(site: Site) -> None:
    info = site.install("broken", points={"perfcore.view": ["broken = nowhere:View"]})
    (info / "METADATA").unlink()
    install_view(site)
    assert Plugins().load("view", "acme")[0].version == "1.0"
    assert described("view", "broken")[0] == "broken"
    with pytest.raises(PluginError, match="cannot be imported"):
        Plugins().load("view", "broken")


@pytest.mark.parametrize("target", ["", ":", ":View", "acme:", "acme:View:x", "acme View", "a..b:c"])
def test_a_target_that_names_nothing_is_told(site: Site, target: str) -> None:
    site.install("acme-perf", points={"perfcore.view": [f"acme = {target}"]}, acme=VIEW)
    with pytest.raises(PluginError, match=r"view 'acme' \(acme-perf 1.0\) in loading: "):
        Plugins().load("view", "acme")
    assert described("view", "acme")[0] == "broken"


def test_extras_of_a_target_do_not_matter(site: Site) -> None:
    site.install("acme-perf", points={"perfcore.view": ["acme = acme:View[extra]"]}, acme=VIEW)
    assert Plugins().load("view", "acme")


LOAD = """
import sys
import warnings
sys.executable = "/usr/bin/python3"  # stevedore keeps no cache for interpreters below /tmp
from perfcore.plugins import Plugins
try:
    print(Plugins().load("view", sys.argv[1])[0].target)
except Exception as error:
    print(error)
"""


def loaded(site: Site, home: Path, name: str) -> str:
    """The target of a view, or why there is none, in a new process that has a cache."""
    env = {**os.environ, **site.env, "XDG_CACHE_HOME": str(home)}
    return subprocess.run([sys.executable, "-c", LOAD, name], env=env, capture_output=True, text=True).stdout.strip()


def rewrite(info: Path, old: str, new: str) -> None:
    """Change entry points so that neither the names nor the times of files tell."""
    path = info / "entry_points.txt"
    stat = path.stat()
    path.write_text(path.read_text().replace(old, new))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


@pytest.mark.skipif(sys.platform != "linux", reason="where stevedore keeps its cache is known of Linux here")
def test_a_stale_cache_misleads_nobody(site: Site, tmp_path: Path) -> None:
    home = tmp_path / "home"
    source = VIEW.replace("class View", "class First") + VIEW.replace("class View", "class Second")
    info = site.install("acme-perf", points={"perfcore.view": ["acme = acme:First"]}, acme=source)
    assert loaded(site, home, "acme") == "acme:First"
    (cache,) = (home / "python-entrypoints").iterdir()
    assert "acme:First" in cache.read_text()

    rewrite(info, "acme:First", "acme:Second")
    assert loaded(site, home, "acme") == "acme:Second"
    rewrite(info, "acme =", "other =")
    assert loaded(site, home, "acme").startswith("there is no view 'acme'")
    assert loaded(site, home, "other") == "acme:Second"
    assert "acme:First" in cache.read_text()  # stale all the time
    assert "other" not in cache.read_text()


def test_a_cache_that_cannot_be_written_or_read_disturbs_nobody(site: Site, tmp_path: Path) -> None:
    install_view(site)
    (tmp_path / "python-entrypoints").write_text("no folder")
    assert loaded(site, tmp_path, "acme") == "acme_perf:View"


# Refusing


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import nonexistent_module", "cannot be imported: ModuleNotFoundError: No module named 'nonexistent_module'"),
        ("class View(:", "cannot be imported: SyntaxError"),
        ("import sys; sys.exit()", "cannot be imported: SystemExit"),
        ("raise SystemExit(0)", "cannot be imported: SystemExit: 0"),
        ("raise ValueError('first\\nsecond')", "cannot be imported: ValueError: first"),
        ("import os; os.no_such_name", "cannot be imported: AttributeError: module 'os' has no attribute"),
        ("class Veiw: ...", "module acme has no View"),
        ("View = object()", "acme:View is not a class"),
        ("def View(settings): ...", "acme:View is not a class"),
        ("class View: ...", "View lacks render of the kind view"),
        ("class View: render = None", "View lacks render of the kind view"),
        (
            "class View:\n    def render(self, subject, output, colour): ...",
            "it has render(subject, output, colour), the specification render(subject, output)",
        ),
        (
            "class View:\n    def render(self, output, subject): ...",
            "it has render(output, subject), the specification render(subject, output)",
        ),
        (
            "class View:\n    def render(self, subject): ...",
            "it has render(subject), the specification render(subject, output)",
        ),
        ("class View:\n    def render(self, subject, output=None): ...", "it has render(subject, output=None)"),
        ("class View:\n    def render(self, *, subject, output): ...", "it has render(*, subject, output)"),
        ("class View:\n    def render(self, *args, **kwargs): ...", "it has render(*args, **kwargs)"),
        (
            "import perfcore.hookspecs\nclass View(perfcore.hookspecs.View): ...",
            "it inherits render from the specification, where it does nothing",
        ),
        (VIEW + "    class Settings: ...", "has no usable Settings: TypeError"),
        (VIEW + "    Settings = 3", "has no usable Settings: TypeError"),
        (
            "import attrs\n@attrs.frozen\nclass S:\n    a: int = 3\n" + VIEW + "    Settings = S",
            "S.a is not made by option()",
        ),
        (
            "import attrs\nfrom perfcore.settings import option\n@attrs.frozen\nclass S:\n"
            "    a: dict = option(help='A.')\n" + VIEW + "    Settings = S",
            "an option cannot be of type <class 'dict'>",
        ),
        (
            "from __future__ import annotations\nimport attrs\nfrom perfcore.settings import option\n@attrs.frozen\n"
            "class S:\n    a: NotImported = option(3, help='A.')\n" + VIEW + "    Settings = S",
            "has no usable Settings: NameError",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_reason(site: Site, source: str, reason: str) -> None:
    site.install("acme-perf", "1.0", points={"perfcore.view": ["acme = acme:View"]}, acme=source)
    install_view(site, "other-perf", point="fine")
    with pytest.raises(PluginError) as caught:
        Plugins().load("view", "acme")
    assert str(caught.value).startswith("view 'acme' (acme-perf 1.0) in loading: ")
    assert reason in str(caught.value)
    assert caught.value.exit_code == 5
    state, told = described("view", "acme")
    assert (state, reason in told) == ("broken", True)
    assert Plugins().load("view", "fine")


@pytest.mark.parametrize(
    "methods",
    [
        "def before(self, job): ...\n    def collect(self, session): ...\n    def after(self): ...",
        "def before(this, job, quick=True): ...\n    def collect(self, session, run, *, n=1): ...\n"
        "    def after(self, session, outcome): ...",
        "def before(self): ...\n    @staticmethod\n    def collect(session, run): ...\n"
        "    @classmethod\n    def after(cls, session): ...",
    ],
)
def test_a_phase_may_leave_out_arguments_at_its_end(site: Site, methods: str) -> None:
    source = f"class Collector:\n    {methods}\n"
    site.install("acme-perf", points={"perfcore.collector": ["acme = acme:Collector"]}, acme=source)
    plugins = Plugins()
    found, driver = plugins.make("collector", "acme")
    phases = plugins.phases(found, driver)
    phases.call("before", job=1)
    phases.call("collect", session=2, run=3)
    phases.call("after", session=2, outcome=4)


@pytest.mark.parametrize("observed", [False, True])
def test_a_phase_gets_its_arguments_by_name_with_observers_and_without(site: Site, observed: bool) -> None:
    source = (
        "import functools\n"
        "def traced(function):\n"
        "    @functools.wraps(function)\n"
        "    def call(*given): return 'traced', function(*given)\n"
        "    return call\n"
        "class Collector:\n"
        "    def before(this, job, quick=True): return job, quick\n"
        "    @traced\n"
        "    def collect(self, session, run): return session, run\n"
        "    @classmethod\n"
        "    def after(cls, session): return cls.__name__, session\n"
    )
    watch = "def watch(job):\n    answer = yield\n    return answer\n"
    points = {"perfcore.collector": ["acme = acme:Collector"]}
    if observed:
        points["perfcore.hooks"] = ["collector.before = watching:watch"]
    site.install("acme-perf", points=points, acme=source, watching=watch)
    plugins = Plugins()
    phases = plugins.phases(*plugins.make("collector", "acme"))
    assert phases.observed is observed
    assert phases.call("before", job=1) == (1, True)
    assert phases.call("collect", session=2, run=3) == ("traced", (2, 3))
    assert phases.call("after", session=2, outcome=4) == ("Collector", 2)


def test_optional_methods_may_be_missing(site: Site) -> None:
    source = "class Check:\n    def scan(self, series, state): return (), b''\n"
    site.install("acme-perf", points={"perfcore.check": ["acme = acme:Check"]}, acme=source)
    assert Plugins().load("check", "acme")


@pytest.mark.parametrize(
    ("system", "platforms"),
    [
        ("OS Independent", {"linux", "darwin", "win32", "freebsd14"}),
        ("POSIX", {"linux", "darwin", "freebsd14"}),
        ("POSIX :: Linux", {"linux", "freebsd14"}),
        ("Unix", {"linux", "darwin", "freebsd14"}),
        ("MacOS", {"darwin", "freebsd14"}),
        ("MacOS :: MacOS X", {"darwin", "freebsd14"}),
        ("Microsoft", {"win32", "freebsd14"}),
        ("Microsoft :: Windows", {"win32", "freebsd14"}),
        ("Microsoft :: Windows :: Windows 11", {"win32", "freebsd14"}),
    ],
)
@pytest.mark.parametrize("platform", ["linux", "darwin", "win32", "freebsd14"])
def test_a_plugin_for_other_systems_is_refused_before_it_is_imported(
    site: Site, monkeypatch: pytest.MonkeyPatch, system: str, platforms: set[str], platform: str
) -> None:
    """Of a system that no classifier tells of, nothing is known, so nothing is refused."""
    classifiers = [f"Operating System :: {system}", "Programming Language :: Python"]
    site.install("acme-perf", points={"perfcore.view": ["acme = acme:View"]}, classifiers=classifiers, acme=VIEW)
    monkeypatch.setattr(sys, "platform", platform)
    if platform in platforms:
        assert Plugins().load("view", "acme")
    else:
        with pytest.raises(PluginError, match=f"needs {system}, this is {platform}"):
            Plugins().load("view", "acme")
        assert described("view", "acme") == ("broken", f"needs {system}, this is {platform}")


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_is_refused_without_its_methods(site: Site, kind: str) -> None:
    site.install("acme-perf", points={f"perfcore.{kind}": ["acme = acme:Empty"]}, acme="class Empty: ...")
    if KINDS[kind].required:
        with pytest.raises(PluginError, match=f"Empty lacks .* of the kind {kind}"):
            Plugins().load(kind, "acme")
    else:
        assert Plugins().load(kind, "acme")


# Making

SETTINGS = """
import attrs
import importlib
from pathlib import Path
from perfcore.settings import option
@attrs.frozen
class Settings:
    width: int = option(80, help="How wide.", minimum=1, env="ACME_WIDTH")
    names: tuple[str, ...] = option((), help="Which.", env="ACME_NAMES")
    where: Path | None = option(None, help="Where.")
    @names.validator
    def known(self, attribute, value):
        if "boom" in value:
            raise KeyError("boom")
class View:
    Settings = Settings
    def __init__(self, settings): self.settings = settings
    def render(self, subject, output): ...
"""


def install_with_settings(site: Site) -> None:
    site.install("acme-perf", points={"perfcore.view": ["acme = acme:View"]}, acme=SETTINGS)


def test_a_driver_gets_its_settings(site: Site) -> None:
    install_with_settings(site)
    settings = Plugins().make("view", "acme", {"width": "120", "where": "a b"})[1].settings
    assert (settings.width, settings.names, settings.where) == (120, (), Path("a b"))


LATER = (
    "import attrs\nfrom perfcore.settings import option\n@attrs.frozen\nclass Settings:\n    width: int = option({})\n"
)


def install_with_later_settings(site: Site, module: str, option: str) -> None:
    driver = (
        f"{VIEW}    Settings = '{module}:Settings'\n    def __init__(self, settings=None): self.settings = settings\n"
    )
    modules = {f"acme_{module}": driver, module: LATER.format(option)}
    site.install("acme-perf", points={"perfcore.view": [f"acme = acme_{module}:View"]}, **modules)


def test_settings_that_a_text_names_are_imported_where_an_option_is_set(site: Site) -> None:
    install_with_later_settings(site, "later", "80, help='Width.'")
    assert Plugins().make("view", "acme")[1].settings is None
    assert Plugins().make("view", "acme", {"width": 7})[1].settings.width == 7
    assert Plugins().settings("view", "acme").width == 80
    with pytest.raises(UsageError, match="unknown option 'height'"):
        Plugins().make("view", "acme", {"height": 7})


@pytest.mark.parametrize("option", ["help='Width.'", "80, help='Width.', env='WIDTH'"])
def test_settings_that_a_text_names_can_be_left_out(site: Site, option: str) -> None:
    install_with_later_settings(site, f"needed{len(option)}", option)
    with pytest.raises(PluginError, match="names its Settings by a text, and width is required or has a variable"):
        Plugins().make("view", "acme")


def test_the_environment_gives_what_nothing_else_does(site: Site) -> None:
    install_with_settings(site)
    plugins = Plugins(environ={"ACME_WIDTH": "10", "ACME_NAMES": "a b", "OTHER": "x"})
    assert plugins.settings("view", "acme").width == 10
    assert plugins.settings("view", "acme", {"width": 20}).width == 20
    assert plugins.settings("view", "acme").names == ("a", "b")
    assert Plugins(environ={"ACME_WIDTH": ""}).settings("view", "acme").width == 80
    with pytest.raises(UsageError, match="view acme: \\$ACME_WIDTH: 'width' wants a whole number, got 'x'"):
        Plugins(environ={"ACME_WIDTH": "x"}).settings("view", "acme")


def test_an_unknown_option_is_told_with_the_nearest(site: Site) -> None:
    install_with_settings(site)
    with pytest.raises(UsageError) as caught:
        Plugins().make("view", "acme", {"widht": 3})
    assert (caught.value.message, caught.value.hint) == ("view acme: unknown option 'widht'", "did you mean 'width'?")
    with pytest.raises(UsageError) as caught:
        Plugins().settings("view", "acme", {"repet": 3}, others=("repeat",))
    assert caught.value.hint == "did you mean 'repeat'?"


def test_options_for_a_driver_without_any_are_wrong_usage(site: Site) -> None:
    install_view(site)
    assert Plugins().make("view", "acme", {})
    with pytest.raises(UsageError, match="view acme: unknown option 'width'"):
        Plugins().make("view", "acme", {"width": 3})


def test_a_validator_that_fails_is_told_with_the_plugin(site: Site) -> None:
    install_with_settings(site)
    with pytest.raises(PluginError) as caught:
        Plugins().make("view", "acme", {"names": ["boom"]})
    assert str(caught.value) == "view 'acme' (acme-perf 1.0) in settings: KeyError: 'boom'"


@pytest.mark.parametrize("action", ["raise OSError(28, 'No space left')", "raise SystemExit(0)", "1 / 0"])
def test_a_constructor_that_fails_is_told_with_the_plugin(site: Site, action: str) -> None:
    source = f"class View:\n    def __init__(self): {action}\n    def render(self, subject, output): ...\n"
    site.install("acme-perf", points={"perfcore.view": ["acme = acme:View"]}, acme=source)
    with pytest.raises(PluginError, match=r"view 'acme' \(acme-perf 1.0\) in construction: ") as caught:
        Plugins().make("view", "acme")
    assert caught.value.__cause__ is not None


def test_kinds_with_a_place_are_made_with_it(site: Site, tmp_path: Path) -> None:
    methods = "\n".join(
        f"    def {m}({', '.join(['self', *arguments])}): ..."
        for m, arguments in {
            "read": ["key"],
            "create": ["key", "data"],
            "replace": ["key", "data", "tag"],
            "delete": ["key", "tag"],
            "touch": ["key"],
            "list": ["prefix"],
        }.items()
    )
    source = f"class Storage:\n    def __init__(self, place): self.place = place\n{methods}\n"
    site.install("acme-perf", points={"perfcore.storage": ["acme = acme:Storage"]}, acme=source)
    assert Plugins().make("storage", "acme", place=tmp_path)[1].place == tmp_path


# Blocking


@pytest.mark.parametrize("word", ["acme", "view:acme", "acme-perf", "Acme_Perf"])
def test_a_plugin_is_disabled_by_name_kind_or_distribution(site: Site, word: str) -> None:
    install_view(site)
    plugins = Plugins(disabled=[word])
    assert "acme" not in plugins.names("view")
    with pytest.raises(PluginError, match=r"view 'acme' \(acme-perf 1.0\) is disabled"):
        plugins.load("view", "acme")
    assert described("view", "acme", disabled=[word]) == ("disabled", "")


@pytest.mark.parametrize("word", ["collector:acme", "acm", "perf", "view:"])
def test_other_words_disable_nothing(site: Site, word: str) -> None:
    install_view(site)
    assert Plugins(disabled=[word]).load("view", "acme")


def test_a_plugin_can_be_disabled_after_it_was_loaded(site: Site) -> None:
    """The configuration may be found with the help of a plugin."""
    install_view(site)
    plugins = Plugins()
    plugins.load("view", "acme")
    plugins.disabled |= {"acme"}
    with pytest.raises(PluginError, match="is disabled"):
        plugins.load("view", "acme")


# Explaining


def test_the_first_line_of_the_documentation_and_the_settings_are_shown(site: Site) -> None:
    install_with_settings(site)
    install_view(site, "other-perf", point="other")
    found = {d.info.name: d for d in Plugins().describe(["view"])}
    assert found["acme"].settings is sys.modules["acme"].Settings
    assert (found["other"].help, found["other"].settings) == ("Shows nothing.", None)


def test_a_first_sentence_is_told_whole_however_it_is_wrapped() -> None:
    class Wrapped:
        """Shows what there is, in
        3.5 colours. On Linux.

        And more."""

    assert installed.first_line(Wrapped) == "Shows what there is, in 3.5 colours."


def test_pluggy_refuses_what_it_could_not_call() -> None:
    class Greedy:
        def before(self, job: object, colour: object) -> None: ...

    told = list(misfits(KINDS["collector"], Greedy()))
    assert told[0] == "it has before(job: 'object', colour: 'object') -> 'None', the specification before(job)"
    assert "Argument(s) {'colour'} are declared in the hookimpl but can not be found in the hookspec" in told[1]


def test_an_unforeseen_exception_is_told_with_its_distribution(site: Site) -> None:
    site.install("acme-perf", points={"perfcore.view": ["a = acme.deep:View"]}, acme="def fail(): return 1 / 0")
    acme = importlib.import_module("acme")

    with pytest.raises(ZeroDivisionError) as theirs:
        acme.fail()
    with pytest.raises(OSError) as nobodys:
        Path("/nonexistent").read_text()
    assert owner_of(theirs.value) == "acme-perf 1.0"
    assert owner_of(nobodys.value) is None


def test_stevedore_finds_also_where_warnings_are_errors() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = find_driver("view", "table")
    assert found is not None
    assert found.distribution == "perfcore-view-table"
