"""Commands of plugins: verbs of their own, and commands that stand below a verb of perfcore."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from perfcore.cli.console import Console, console_of
from perfcore.cli.options import named
from perfcore.cli.verbs import VERBS, Verb
from perfcore.errors import PerfError, UsageError, nearest
from perfcore.hookspecs import COMMAND
from perfcore.plugins import Plugins
from perfcore.plugins.drivers import guard
from perfcore.plugins.installed import COMMANDS, requirement
from perfcore.text import printable


def plugin_verb(plugins: Plugins, name: str) -> Verb:
    """The row of a plugin's verb in `perf --help`."""
    chapter, after = "From plugins", ""
    try:
        _, driver = plugins.load("command", name)
        text = (inspect.getdoc(driver) or "").partition("\n")[0] or f"`perf {name} --help` tells."
        chapter, after = getattr(driver, "chapter", chapter), getattr(driver, "after", after)
    except PerfError as error:  # a plugin that is broken does not hide the help of the others
        text = f"cannot be used: {error}"
    return Verb("", printable(str(chapter)), printable(text), after)


def with_plugin_verbs(plugins: Plugins, names: Sequence[str]) -> dict[str, Verb]:
    """All verbs in the order of the help. A plugin's verb stands behind the one that its attribute `after` names, which
    may be a plugin's, too."""
    verbs, added = dict(VERBS), {name: plugin_verb(plugins, name) for name in names}
    order = list(verbs)
    while added:
        # Where verbs name each other or one that is not there, the first of them goes to the end.
        name = next((name for name, verb in added.items() if verb.after in order), next(iter(added)))
        verbs[name] = verb = added.pop(name)
        order.insert(order.index(verb.after) + 1 if verb.after in order else len(order), name)
    return {name: verbs[name] for name in order}


def plugin_command(console: Console, name: str) -> Any:
    """The command that a plugin of this name adds; the word that users type is the part behind the dot."""
    info, driver = console.plugins.make(COMMAND, name, console.config.plugin_options("command", name))
    with guard(info, "app"):
        return named(driver.app(), name.rpartition(".")[2])


def unknown_command(ctx: Any, word: str, names: Sequence[str], verb: str = "") -> UsageError:
    """The error for a word that is no command, or none below a verb, with the distribution that would bring it, or the
    nearest of the `names` that are there."""
    plugins, path = console_of(ctx).plugins, f"perf {verb}".rstrip()
    command = f"{verb}.{word}" if verb else word
    if command not in COMMANDS or "." in word:
        below = next((name for name in (*plugins.commands(), *COMMANDS) if name.endswith(f".{word}")), "")
        true = f"did you mean `perf {below.replace('.', ' ')}`?" if below else nearest(word, names, alike=0.65)
        hint = true or f"`{path} --help` lists them"
    else:
        is_there, distribution = plugins.is_announced("command", command), COMMANDS[command]
        hint = f"{distribution} is disabled" if is_there else f"pip install {requirement(distribution)}"
    return UsageError(f"{f'`{path}`' if verb else path} has no command '{printable(word)}'", hint=hint)
