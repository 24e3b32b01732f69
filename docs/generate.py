"""Writes `docs/commands.md`, what every command says of itself, and `docs/configuration.md`, the keys.

    python docs/generate.py

Only what `pip install "perfcore-standard"` brings is shown, whatever else is installed.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import re
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path

import typer

from perfcore.cli import main
from perfcore.cli.extensions import with_plugin_verbs
from perfcore.config.layers import KEYS
from perfcore.config.settings import Option, options_of
from perfcore.hookspecs import COMMAND, KINDS
from perfcore.plugins import Plugins
from perfcore.plugins.drivers import settings_of
from perfcore.plugins.installed import announced, normalized

HERE = Path(__file__).resolve().parent
OF_PLUGINS = {
    "aggregate": "aggregate",
    "collect": "collector",
    "diff": "diff",
    "postprocess": "postprocessor",
    "show": "view",
}
HEAD = """\
# Commands

<!-- Written by docs/generate.py from the help of the commands: change it there. -->

Results go to standard output, everything else to standard error. `--json` prints documents with a schema version.
[Concepts](concepts.md) explains the names of profiles and the exit codes.
"""
KEYS_HEAD = """\
# Keys of the configuration

<!-- Written by docs/generate.py from the keys of perfcore and the options of its plugins: change it there. -->

`perf config set KEY VALUE` sets a key for this repository, with `--project` in the versioned `.perfcore.yml`, with
`--user` for all repositories. In files of a repository, keys that make something run take effect only after
`perf config trust` ([layers and trust](concepts.md#configuration-and-trust)).

| key | holds | default | | runs something |
|---|---|---|---|---|
"""
OPTIONS_HEAD = """\

## Options of plugins

Each option of a plugin is the key `<kind>.<name>.<option>`: `perf config set collector.time.timeout 60s`. On the
command line it is the option of the same name, in a [job matrix](matrix.md) a key beside the plugin's name. Options
that are *identity* are part of what makes two profiles comparable.
"""
KIND_HEAD = """\

### {kind}

| key | holds | default | |
|---|---|---|---|
"""
_HOLDS = {bool: "flag", int: "number", float: "number", str: "text"}


def pages() -> dict[str, str]:
    """The pages that are generated, by the names of their files."""
    plugins = Plugins(disabled=_not_standard())
    sections = [_section(words) for words in commands(plugins)]
    made = "\n".join([HEAD, contents(plugins), *sections])
    return {"commands.md": made, "configuration.md": configuration(plugins)}


def contents(plugins: Plugins) -> str:
    """The commands by chapter."""
    verbs = with_plugin_verbs(plugins, _verbs_of_plugins(plugins))
    lines = ["| | |", "|---|---|"]
    for chapter in dict.fromkeys(verb.chapter for verb in verbs.values()):
        names = [name for name, verb in verbs.items() if verb.chapter == chapter]
        lines.append(f"| {chapter} | {', '.join(f'[{name}](#perf-{name})' for name in names)} |")
    return "\n".join(lines) + "\n"


def commands(plugins: Plugins) -> Iterator[tuple[str, ...]]:
    """The words of every command, those of plugins below the verb that takes them."""
    yield ()
    for name, verb in with_plugin_verbs(plugins, _verbs_of_plugins(plugins)).items():
        yield (name,)
        if verb.module:
            app = importlib.import_module(f"perfcore.cli.{verb.module}").app
        else:
            app = plugins.make(COMMAND, name)[1].app()
        below = plugins.names(OF_PLUGINS[name]) if name in OF_PLUGINS else _below(app)
        yield from ((name, each) for each in below)
        added = (each for each in plugins.names("command") if each.startswith(f"{name}."))
        yield from ((name, each.removeprefix(f"{name}.")) for each in added)


def _below(app: typer.Typer) -> Sequence[str]:
    commands = getattr(typer.main.get_command(app), "commands", {})
    return tuple(name for name, command in commands.items() if not command.hidden)


def _verbs_of_plugins(plugins: Plugins) -> list[str]:
    """The verbs that plugins add; a name with a dot stands below a verb of perfcore."""
    return [name for name in plugins.names("command") if "." not in name]


def _section(words: Sequence[str]) -> str:
    title = " ".join(("perf", *words))
    return f"{'###' if len(words) > 1 else '##'} {title}\n\n```text\n{help_of(words)}```\n"


def help_of(words: Sequence[str]) -> str:
    """What a command prints as its help."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = main([*words, "--help"])
    if code or not printed.getvalue():
        raise SystemExit(f"`perf {' '.join(words)} --help` ended with {code}")
    return "".join(f"{line.rstrip()}\n" for line in printed.getvalue().rstrip().splitlines())


def _keys() -> str:
    rows = []
    for name, key in KEYS.items():
        default = "" if key.default in (None, [], {}) else f"`{key.default}`"
        rows.append(f"| `{name}` | {key.kind} | {default} | {key.help} | {'yes' if key.runs else ''} |\n")
    return "".join(rows)


def configuration(plugins: Plugins) -> str:
    """The page of all keys: those of perfcore, and the options of plugins by kind."""
    page = KEYS_HEAD + _keys() + OPTIONS_HEAD
    for kind in sorted(KINDS):
        rows = [
            _option(f"{kind}.{name}", option)
            for name in plugins.names(kind)
            for option in _options(plugins, kind, name)
        ]
        if rows:
            page += KIND_HEAD.format(kind=kind) + "".join(rows)
    return page


def _options(plugins: Plugins, kind: str, name: str) -> Sequence[Option]:
    settings = settings_of(plugins.load(kind, name)[1])
    return options_of(settings) if settings else ()


def _option(driver: str, option: Option) -> str:
    info, empty = option.info, option.default in (None, (), "", False)
    holds = "one of " + ", ".join(info.choices) if info.choices else _HOLDS.get(option.type, "path")
    holds = "seconds" if info.unit == "s" else f"{holds}s" if option.many else holds
    default = "" if empty or option.required else f"`{option.default}`"
    said = [info.help, f"In {info.unit}." if info.unit not in ("", "s") else "", "*Identity.*" if info.identity else ""]
    text = " ".join(filter(None, said)).replace("|", "\\|")
    return f"| `{driver}.{option.name}` | {holds} | {default} | {text} |\n"


def _standard() -> set[str]:
    """The distributions that `perfcore-standard` brings."""
    pyproject = HERE.parent / "plugins" / "standard" / "pyproject.toml"
    wanted = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]["dependencies"]
    return {normalized(re.split(r"[^\w.-]", item.strip(), maxsplit=1)[0]) for item in wanted}


def _not_standard() -> tuple[str, ...]:
    """The distributions with plugins that are installed besides. All of the standard ones have to be there."""
    every = {normalized(found.distribution) for kind in announced().values() for found in kind}
    missing = _standard() - {normalized(each.name) for each in metadata.distributions() if each.name}
    if missing:
        raise SystemExit(f"to write the page, install {', '.join(sorted(missing))}")
    return tuple(sorted(every - _standard()))


@contextlib.contextmanager
def elsewhere(disabled: Sequence[str]) -> Iterator[None]:
    """An empty folder, an environment without anybody's configuration, and a terminal of 80 columns; `disabled` are
    distributions whose plugins are left out."""
    for name in [name for name in os.environ if name.startswith(("PERF_", "XDG_"))]:
        del os.environ[name]
    os.environ |= {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb", "PERF_DISABLED_PLUGINS": ",".join(disabled)}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOME"] = folder
        before = Path.cwd()
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


if __name__ == "__main__":
    with elsewhere(_not_standard()):
        made = pages()
    for name, text in made.items():
        if "--print" in sys.argv[1:]:
            sys.stdout.write(text)
        else:
            (HERE / name).write_text(text, encoding="utf-8")
