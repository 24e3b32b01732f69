"""`perf config`: read, change and trust the configuration."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from typing import Annotated, Any

import typer
from perfcore_command_kit.edited_files import keep_trusted
from perfcore_command_kit.extensible_group import ExtensibleGroup

from perfcore.cli.console import Console
from perfcore.cli.options import AsJson
from perfcore.config import documents
from perfcore.config import layers as configuration
from perfcore.config.layers import LOCAL_FILE, PROJECT_FILE
from perfcore.config.settings import options_of
from perfcore.errors import NotFoundError, PerfError, PluginError, UsageError, nearest
from perfcore.measure.schedule import SCHEDULE_KEYS
from perfcore.plugins import local
from perfcore.plugins.drivers import settings_of
from perfcore.text import printable, printable_lines

User = Annotated[bool, typer.Option("--user", help="The user's file.")]
Project = Annotated[bool, typer.Option("--project", help=f"The project's versioned file, {PROJECT_FILE}.")]


def new_app() -> typer.Typer:
    """A new Typer app with the commands, beside which other plugins add theirs."""
    app = typer.Typer(
        cls=ExtensibleGroup,
        no_args_is_help=True,
        help="Read, change and trust the configuration: user < project < local.",
        rich_markup_mode=None,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.command("get", short_help="Print the value of a key, or of all that are set.")(get)
    app.command("set", short_help="Set a key.")(set_)
    app.command("unset")(unset)
    app.command("edit", short_help="Open a configuration file in your editor.")(edit)
    app.command("trust", short_help="Trust what the project's files want to run, as they are now.")(trust)
    return app


def get(
    ctx: typer.Context,
    key: Annotated[str | None, typer.Argument(metavar="[KEY]", help="Such as gc.grace.", show_default=False)] = None,
    as_json: AsJson = False,
) -> None:
    """Print the value of a key, or of all that are set, with the layer each comes from."""
    console: Console = ctx.obj
    config = console.config
    if key is None:
        rows = list(config.flat())
        if as_json:
            console.json({"schema": 1, "values": {k: {"value": v, "layer": layer} for k, v, layer in rows}})
        for name, value, layer in rows if not as_json else ():
            console.line(f"{printable(name)} = {printable(str(value))}  ({layer})")
        return
    configuration.check_key(key)
    value = config.get(key)
    if value is None:
        raise NotFoundError(f"{key} is not set")
    if as_json:
        console.json({"schema": 1, "key": key, "value": value})
    else:
        console.line(
            printable(str(value)) if not isinstance(value, list) else "\n".join(printable(str(v)) for v in value)
        )


def set_(
    ctx: typer.Context,
    key: Annotated[str, typer.Argument(metavar="KEY", help="Such as execute.pre_run.")],
    value: Annotated[str, typer.Argument(metavar="VALUE", help="A value in YAML: 3, text, [a, b].")],
    user: User = False,
    project: Project = False,
) -> None:
    """Set a key in the repository's own file (or the user's, or the project's).

    This trusts the file, unless it has other content that you have not trusted yet.
    """
    console: Console = ctx.obj
    configuration.check_key(key)
    _check_option(console, key)
    path = _path(console, user, project)
    _set(console, path, key, documents.parse(value.encode(errors="surrogateescape"), key))


def _check_option(console: Console, key: str) -> None:
    """UsageError for an option that an installed plugin does not have; of others nothing is known."""
    kind, _, name_and_option = key.partition(".")
    name, _, option = name_and_option.partition(".")
    if key in configuration.KEYS or name not in console.plugins.names(kind):
        return
    try:
        settings = settings_of(console.plugins.load(kind, name)[1])
    except PluginError:
        return
    options = [declared.name for declared in options_of(settings)] if settings else []
    options += SCHEDULE_KEYS if kind == "collector" else []
    if option not in options:
        raise UsageError(f"{kind} {name}: unknown option {option!r}", hint=nearest(option, options))


def unset(
    ctx: typer.Context, key: Annotated[str, typer.Argument(metavar="KEY")], user: User = False, project: Project = False
) -> None:
    """Remove a key, so that the layer below is used."""
    console: Console = ctx.obj
    _set(console, _path(console, user, project), key, None)


def edit(ctx: typer.Context, user: User = False, project: Project = False) -> None:
    """Open a configuration file in your editor; it is checked before it is kept."""
    console: Console = ctx.obj
    path = _path(console, user, project)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.draft")
    if not draft.exists():
        draft.write_bytes(configuration.read_bytes(path) or b"")
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"  # as git does
    try:
        code = subprocess.call([*shlex.split(editor), str(draft)])
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise PerfError(f"cannot start the editor {editor!r}: {reason}", hint="set EDITOR") from error
    if code:
        raise PerfError(f"{editor} ended with {code}; {path} is as it was, your draft is {draft}")
    try:
        layer = configuration.read_layer("local", draft)
        edited = configuration.Config((layer,))
        for key in configuration.KEYS:
            edited.get(key)  # UsageError for a value that is not what the key holds
        if not (user or project) and not edited.get("vcs.name"):
            raise UsageError("it has to say which VCS this is, such as `vcs: {name: git}`")
    except PerfError as error:
        raise type(error)(
            f"{error}; {path} is as it was", hint="run the command again to go on with your draft"
        ) from error
    before, after = configuration.read_bytes(path) or b"", draft.read_bytes()
    if before != after:
        configuration.write_atomically(path, after)
    draft.unlink()
    _trust(console, path, before, after)


def trust(ctx: typer.Context, yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False) -> None:
    """Show what the project's files want to run, with the plugins in them, and trust exactly this content."""
    console: Console = ctx.obj
    repository = console.repository
    waiting = [layer for layer in repository.config.layers if not repository.trust.covers(layer)]
    for layer in waiting:
        assert layer.path is not None
        console.line(f"{printable(str(layer.path))}:")
        data = configuration.read_bytes(layer.path) or b""
        if configuration.digest(data, layer.path) != layer.digest:  # only what is shown may become trusted
            raise UsageError(f"{layer.path} has just changed; look again")
        console.line(printable_lines(data.decode(errors="backslashreplace")).rstrip())
        if not yes and not console.confirm("run what this says?"):
            raise PerfError("nothing was trusted", hint="--yes trusts without a question")
        repository.trust.add(layer.digest)
        console.say(f"trusted {layer.path}")
    if not _trust_own(console, yes) and not waiting:
        console.say("there is nothing that needs to be trusted")


def _trust_own(console: Console, yes: bool) -> int:
    """Show the files of plugins that a trusted configuration names, and trust them; gives how many."""
    repository = console.repository
    paths: set[Path] = set()
    for plugin in repository.plugins.local:
        if plugin.path in paths:
            continue
        try:
            data = plugin.read()
        except PerfError as error:
            console.warn(f"{error} (named by {local.KEY})")
            continue
        if plugin.is_trusted(data, repository.trust):
            continue
        paths.add(plugin.path)
        console.line(f"{printable(str(plugin.path))}:")
        console.line(printable_lines(data.decode(errors="backslashreplace")).rstrip())
        if not yes and not console.confirm("use the plugins in this?"):
            raise PerfError("nothing was trusted", hint="--yes trusts without a question")
        repository.trust.add(local.trust_digest(data))
        console.say(f"trusted {plugin.path}")
    return len(paths)


def _set(console: Console, path: Path, key: str, value: Any) -> None:
    own = console.places.config
    is_own = path == _user_file(console)
    # A lock file beside a versioned file might be committed: that of a project, or that which a link leads to.
    lock = own.with_name(f"{own.name}.lock") if is_own else console.repository.perf / f"{path.name}.lock"
    before, after = configuration.set_value(path, key, value, lock=lock)
    _trust(console, path, before, after)


def _trust(console: Console, path: Path, before: bytes, after: bytes) -> None:
    """Trust what the user made of a file that was trusted, or that made nothing run."""
    # Commands that somebody else put into it are not trusted by a change of something else.
    if path == _user_file(console):
        return
    if not keep_trusted(console.repository.trust, path, before, after) and before != after:
        console.say(f"{path} says more that you have not trusted yet: `perf config trust` shows it")


def _path(console: Console, user: bool, project: bool) -> Path:
    if user and project:
        raise UsageError("--user and --project name two files")
    if user:
        return _user_file(console)
    return console.repository.root / PROJECT_FILE if project else console.repository.perf / LOCAL_FILE


def _user_file(console: Console) -> Path:
    """The user's file, or the one that a link in its place leads to, as those who keep such files in a repository have
    it: the link stays. A link in a project may come from others, and is replaced."""
    return Path(os.path.realpath(console.places.config))
