"""Writes `docs/commands.md`: what every command says of itself, and the keys of the configuration.

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
from perfcore.hookspecs import COMMAND
from perfcore.plugins import Plugins
from perfcore.plugins.installed import announced, normalized

HERE = Path(__file__).resolve().parent
PAGE = HERE / "commands.md"
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
## Keys of the configuration

`perf config set KEY VALUE` sets a key for this repository, with `--project` in the versioned `.perfcore.yml`, with
`--user` for all repositories. In files of a repository, keys that make something run take effect only after
`perf config trust`. Options of plugins are keys, too: `collector.time.timeout`.

| key | holds | default | | runs something |
|---|---|---|---|---|
"""


def page() -> str:
    """The whole page."""
    sections = [_section(words) for words in _commands()]
    return "\n".join([HEAD, _contents(), *sections, KEYS_HEAD + _keys()])


def _contents() -> str:
    plugins = Plugins(disabled=_not_standard())
    verbs = with_plugin_verbs(plugins, _verbs_of_plugins(plugins))
    lines = ["| | |", "|---|---|"]
    for chapter in dict.fromkeys(verb.chapter for verb in verbs.values()):
        names = [name for name, verb in verbs.items() if verb.chapter == chapter]
        lines.append(f"| {chapter} | {', '.join(f'[{name}](#perf-{name})' for name in names)} |")
    return "\n".join(lines) + "\n"


def _commands() -> Iterator[tuple[str, ...]]:
    """The words of every command, those of plugins below the verb that takes them."""
    yield ()
    plugins = Plugins(disabled=_not_standard())
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
    return tuple(getattr(typer.main.get_command(app), "commands", ()))


def _verbs_of_plugins(plugins: Plugins) -> list[str]:
    """The verbs that plugins add; a name with a dot stands below a verb of perfcore."""
    return [name for name in plugins.names("command") if "." not in name]


def _section(words: Sequence[str]) -> str:
    title = " ".join(("perf", *words))
    return f"{'###' if len(words) > 1 else '##'} {title}\n\n```text\n{_help(words)}```\n"


def _help(words: Sequence[str]) -> str:
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
def _elsewhere() -> Iterator[None]:
    """An empty folder, an environment without anybody's configuration, and a terminal of 80 columns."""
    for name in [name for name in os.environ if name.startswith(("PERF_", "XDG_"))]:
        del os.environ[name]
    os.environ |= {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb", "PERF_DISABLED_PLUGINS": ",".join(_not_standard())}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOME"] = folder
        before = Path.cwd()
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


if __name__ == "__main__":
    with _elsewhere():
        made = page()
    if "--print" in sys.argv[1:]:
        sys.stdout.write(made)
    else:
        PAGE.write_text(made, encoding="utf-8")
