"""What a command writes to and reads from: output, progress, questions, and the repository it works on."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from perfcore.cli.outcome import ExitError, is_exit, silence_output
from perfcore.cli.verbs import VERBS
from perfcore.errors import FormatError, NotFoundError, OutputClosedError, PerfError, StorageError, UsageError
from perfcore.plugins.registry import Plugins
from perfcore.repository.repository import Repository, UserPlaces, load_config
from perfcore.text import printable, printable_json, printable_lines

if TYPE_CHECKING:
    from perfcore.cli.progress_line import ProgressLine
    from perfcore.config.layers import Config
    from perfcore.library import History
    from perfcore.store.lookup import Ref

_COLORS = {"red": "31", "green": "32", "yellow": "33", "blue": "34", "bold": "1", "dim": "2"}  # SGR of ECMA-48
_PATIENCE = 1.0  # seconds before progress is told: short commands stay quiet
_PATIENCE_OF_LOGS = 30.0
_BLOCK = 256  # texts of one write; the first goes alone, so that a pager has something at once


class Console:
    """The output of one command (the `Output` of views and plugins' commands, the `Listener` of engines), and its
    repository."""

    def __init__(
        self,
        *,
        directory: Path,
        debug: bool = False,
        observers: bool = True,
        disabled: tuple[str, ...] = (),
        color: bool | None = None,
    ) -> None:
        self.directory = directory
        self.debug = debug
        self.path: Path | None = None
        self._partial: Path | None = None
        self._plugins = Plugins(
            disabled=disabled,
            observers=observers,
            environ=os.environ,
            warn=self.warn,
            memory=lambda: self.places.installed,
        )
        terminal = sys.stdout.isatty()
        self.width: int | None = _columns() if terminal else None
        self.color = terminal and not os.environ.get("NO_COLOR") if color is None else color  # https://no-color.org
        self._browse = False
        self._warned: set[str] = set()
        self._since = time.monotonic()
        self._progress: ProgressLine | None = None

    @functools.cached_property
    def places(self) -> UserPlaces:
        return UserPlaces.default(os.environ)

    @functools.cached_property
    def repository(self) -> Repository:
        return Repository.open(self.directory, plugins=self._plugins, places=self.places)

    @functools.cached_property
    def history(self) -> History:
        """The library on the same repository, which plugins' commands use."""
        from perfcore.library import History

        return History(self.repository)

    @functools.cached_property
    def repository_if_any(self) -> Repository | None:
        """None outside of one."""
        try:
            return self.repository
        except NotFoundError:
            return None

    @functools.cached_property
    def config(self) -> Config:
        """The configuration of the repository; outside of one only the user's."""
        repository = self.repository_if_any
        return load_config(None, self.places) if repository is None else repository.config

    @functools.cached_property
    def plugins(self) -> Plugins:
        """What is installed, less what the environment and the configuration disable. A configuration that cannot
        be read disables nothing; the command that needs it tells."""
        with contextlib.suppress(PerfError):
            self._plugins.disabled |= frozenset(self.config.get("plugins.disabled"))
        return self._plugins

    def plugin_verbs(self) -> tuple[str, ...]:
        """The commands that plugins add. The configuration is only read where there are any."""
        return self.configured_verbs() if self._plugins.commands() else ()

    def configured_verbs(self) -> tuple[str, ...]:
        """The same with those in files that the configuration names, for which it is read in any case."""
        return tuple(name for name in self.plugins.commands() if name not in VERBS and "." not in name)

    def find(self, name: str, *, unregistered: bool = False) -> list[Ref]:
        """The profiles of a name. On a terminal, a file of this name anywhere in the tree is offered when there is
        nothing else."""
        from perfcore.store.lookup import Ref

        try:
            return self.repository.find(name, unregistered=unregistered)
        except NotFoundError:
            for path in _files_called(name, self.repository.root) if self._interactive else ():
                if self.confirm(f"there is {printable(str(path))}: take it?"):
                    return [Ref(kind="file", path=path)]
            raise

    def write(self, text: str) -> None:
        """To the file that was asked for, or to standard output, as it is."""
        with self._writing():
            if self._partial is not None:
                with self._partial.open("a", encoding="utf-8", newline="") as file:
                    file.write(text)
            else:
                self.clear_progress()
                sys.stdout.write(text)

    def write_all(self, texts: Iterable[str]) -> None:
        """The texts one after the other: the first at once, and then more and more of them at a time."""
        iterator, count = iter(texts), 1
        while block := list(itertools.islice(iterator, count)):
            self.write("".join(block))
            count = min(2 * count, _BLOCK)

    def write_bytes(self, data: bytes) -> None:
        with self._writing():
            if self._partial is not None:
                with self._partial.open("ab") as file:
                    file.write(data)
            else:
                sys.stdout.flush()
                sys.stdout.buffer.write(data)
                sys.stdout.buffer.flush()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:  # a full disk, or a reader that went away: no failure of the plugin that writes
            if self._partial is None:
                silence_output()
            if isinstance(error, BrokenPipeError):
                raise OutputClosedError("the reader closed the output") from error
            target = "standard output" if self.path is None else printable(str(self.path))
            raise StorageError(f"cannot write {target}: {error.strerror or error}") from error

    def line(self, text: str = "") -> None:
        self.write(text + "\n")

    def json(self, value: Any) -> None:
        """One JSON document; it should hold a schema version."""
        import json

        self.line(printable_json(json.dumps(value, indent=2, ensure_ascii=False, default=str)))

    def say(self, text: str) -> None:
        """To people, on standard error."""
        self.clear_progress()
        sys.stderr.write(printable_lines(text) + "\n")

    def warn(self, text: str) -> None:
        """A warning, once."""
        if text not in self._warned:
            self._warned.add(text)
            self.say(f"warning: {text}")

    def note(self, text: str) -> None:
        """A note of an engine, each once: a comparison in many sessions has the same one many times."""
        if text not in self._warned:
            self._warned.add(text)
            self.say(f"note: {text}")

    def saved(self, name: str) -> None:
        """Says nothing: the verb prints the names with the results, and a name before them would break its table."""

    def failed(self, subject: str, error: PerfError) -> None:
        """A part of the work that failed, at once; the verb decides what this means for the exit code."""
        self.say(f"perf: {subject}: {error}" if subject else f"perf: {error}")

    def paint(self, text: str, color: str) -> str:
        """The text in a colour, on terminals."""
        return f"\x1b[{_COLORS[color]}m{text}\x1b[0m" if self.color else text

    def output_to(self, path: Path | None, *, force: bool = False, browse: bool = False) -> None:
        """Send what is written to a file, which is there when the command has ended well, complete; a browser
        may open it then. `-` is standard output."""
        if path is None or str(path) in ("-", "/dev/stdout"):
            return
        self._browse = browse
        if path.exists() and not force:
            raise UsageError(f"{path} is there already", hint="--force replaces it")
        devices = path.exists() and not path.is_file()
        self._partial = path if devices else path.with_name(f".{path.name}-{os.getpid()}.part")
        try:
            self._partial.open("wb").close()
        except OSError as error:
            self._partial = None
            raise StorageError(f"cannot write {path}: {error.strerror}") from error
        self.path = path
        self.width, self.color = None, False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """The command has ended: its file takes its name, or goes. One whose answer lacks something fails."""
        self._close_file(kind)
        if kind is None and "repository" in self.__dict__ and self.repository.left_out:
            raise ExitError(FormatError.exit_code)

    def _close_file(self, kind: type[BaseException] | None) -> None:
        partial, self._partial = self._partial, None
        if partial is None or self.path is None or partial == self.path:
            return
        if kind is None or is_exit(kind):
            partial.replace(self.path)  # not `write_atomically`: it was written bit by bit
            if self._browse:
                self._open(self.path)
        else:
            partial.unlink(missing_ok=True)

    def _open(self, path: Path) -> None:
        import webbrowser

        if not webbrowser.open(path.resolve().as_uri()):
            self.say(f"there is no browser here that could open {path}")

    def progress(self, done: int, total: int, text: str) -> None:
        """How far a long work is, once it takes longer than a second; in a log now and then."""
        if self._progress is None:
            waited = time.monotonic() - self._since
            if waited < _PATIENCE_OF_LOGS and (waited < _PATIENCE or not sys.stderr.isatty()):
                return
            from perfcore.cli.progress_line import ProgressLine

            self._progress = ProgressLine()
        self._progress.show(done, total, text, _columns())

    def clear_progress(self) -> None:
        if self._progress is not None:
            self._progress.clear()

    @property
    def _interactive(self) -> bool:
        return sys.stdin.isatty() and sys.stderr.isatty()

    def confirm(self, question: str) -> bool:
        """Ask, on a terminal; elsewhere the answer is no."""
        if not self._interactive:
            return False
        self.clear_progress()
        sys.stderr.write(f"{question} [y/N] ")
        sys.stderr.flush()
        return sys.stdin.readline().strip().lower() in ("y", "yes")


def disabled_by_environment(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The plugins in PERF_DISABLED_PLUGINS, separated by commas or blanks."""
    return tuple(environ.get("PERF_DISABLED_PLUGINS", "").replace(",", " ").split())


def new_console(*, directory: str | Path = ".", debug: bool = False, no_plugins: bool = False) -> Console:
    """The console of a command line with these global options."""
    directory = Path(directory)
    if not directory.is_dir():
        raise UsageError(f"{directory} is not a folder")
    return Console(
        directory=directory,
        debug=debug or bool(os.environ.get("PERF_DEBUG")),
        observers=not no_plugins,
        disabled=disabled_by_environment(os.environ),
    )


def console_of(ctx: Any) -> Console:
    """The console of a command line. It is wanted before `options` is called, to look for the verb."""
    root = ctx.find_root()
    if root.obj is None:
        options = ("directory", "debug", "no_plugins")
        root.obj = root.with_resource(
            new_console(**{name: root.params[name] for name in options if name in root.params})
        )
    context: Console = root.obj
    return context


def _columns() -> int:
    import shutil  # on terminals only

    return shutil.get_terminal_size().columns


def _files_called(name: str, root: Path) -> Iterator[Path]:
    """The files of a name below a folder, hidden folders left out, in the order of their paths."""
    if name != Path(name).name:
        return
    for folder, below, files in os.walk(root):
        below[:] = sorted(directory for directory in below if not directory.startswith("."))
        yield from (Path(folder, file) for file in (name, f"{name}.perf") if file in files)
