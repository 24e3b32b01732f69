"""Configuration in layers: defaults < user < project < local < command line.

Each layer is a YAML mapping. The project's file (`.perfcore.yml`) is versioned, hence data: what it wants to run
is run only after the user trusted its content (`perfcore.config.trust`). Keys are written with dots: `execute.pre_run`.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from perfcore import files
from perfcore.config import documents
from perfcore.config.documents import Source
from perfcore.digests import sha256
from perfcore.errors import FormatError, NotFoundError, StorageError, UsageError, nearest
from perfcore.named_tuple import NamedTuple
from perfcore.text import brief, printable

LayerName = Literal["defaults", "user", "project", "local", "command line"]
PROJECT_FILE = ".perfcore.yml"
LOCAL_FILE = "local.yml"
MAX_BYTES = 1 << 20  # of a file that people write by hand
MAX_LAYER_BYTES = 1 << 15  # of a configuration: every command reads it, and YAML is parsed at about 100 kB a second
_PATIENCE = 10.0  # seconds to wait for who changes the same file


class Key(NamedTuple):
    """A configuration key: what it holds, its default, and whether it makes something run."""

    kind: Literal["text", "texts", "number", "numbers", "names", "seconds", "mapping", "list", "flag"]
    default: Any
    help: str
    runs: bool = False
    minimum: float | None = None


KEYS: Mapping[str, Key] = {
    "format": Key("number", 1, "The version of the layout of `.perf`."),
    "vcs.name": Key("text", None, "The version control system of this repository."),
    "storage.name": Key("text", "local", "Where profiles are kept.", runs=True),
    "executor.name": Key("text", "local", "The executor that measures plans.", runs=True),
    "plugins.disabled": Key("texts", [], "Disabled plugins: name, kind:name or distribution."),
    "plugins.own": Key("mapping", {}, "Plugins in files: {collector: {mine: 'tools/plugins.py:Mine'}}.", runs=True),
    "execute.pre_run": Key("texts", [], "Commands that build a version before it is measured.", runs=True),
    "execute.environment": Key("mapping", {}, "How the environment of a version is made: {name: venv}.", runs=True),
    "execute.shell": Key("flag", False, "Whether a shell runs them.", runs=True),
    "execute.timeout": Key("seconds", 3600, "The longest a pre_run command may take."),  # longer than most builds take
    # Some twenty built trees of a large project; all of them of most.
    "execute.build_cache": Key("number", 5, "Gigabytes of built trees to keep, over all repositories.", True, 0),
    "execute.inputs": Key("texts", [], "Files that decide what commands do: versions with equal files are the same."),
    "collectors": Key("list", [], "Collectors of the job matrix, with their options.", runs=True),
    "postprocessors": Key("list", [], "Postprocessors of the job matrix, in order, with their options.", runs=True),
    "bins": Key("list", [], "Commands of the job matrix; each a name, or a name with params and workloads.", runs=True),
    "cmds": Key("list", [], "The same as bins.", runs=True),
    "args": Key("list", [], "Arguments of the job matrix: one job for each command and argument.", runs=True),
    "workloads": Key("list", [], "Workloads of the job matrix: words, or a generator with its keys.", runs=True),
    "schedule": Key("mapping", {}, "Defaults of repeat, warmup, budget and the other options of the schedule."),
    "benchmarks.renamed": Key("names", {}, "Benchmarks that go on under another name: {old: new}."),
    "check.name": Key("text", "pair", "The check that compares two versions.", runs=True),
    "check.history": Key("text", "changepoint", "The check that examines a whole history.", runs=True),
    "check.rules": Key("list", [], "Checks for single commands, collectors or types, in order.", runs=True),
    "check.judges": Key("texts", ["contract"], "Checks that judge a version as a whole, such as contracts.", runs=True),
    "check.apply": Key("text", "first", "Use the `first` rule that matches, or `all`."),
    "check.threshold": Key("number", None, "The smallest relative change that matters, for every metric.", minimum=0),
    "check.thresholds": Key("numbers", {}, "The same for single metrics: {wall: 0.1}."),
    "check.fail_on": Key("texts", ["degradation"], "More results that fail a check, as in `perf check --fail-on`."),
    "check.note_few_runs": Key("flag", True, "Whether a measurement of fewer runs than a check needs says so."),
    "check.notify": Key("texts", [], "Notifiers that get the result of every check.", runs=True),
    "remotes": Key("names", {}, "Places to push to and pull from: {origin: URL}.", runs=True),
    "sharing.omit": Key("texts", [], "Facts of the machine that a push leaves out, such as host."),
    "sharing.replace": Key("names", {}, "What a push replaces in all texts: {'regular expression': text}."),
    "gc.grace": Key("seconds", 14 * 86400, "How long unreferenced objects are kept."),  # as gc.pruneExpire of git
    "limits.profile_bytes": Key("number", 256 << 20, "The largest profile file that is read."),  # no object is larger
}
_WANTED = {
    "text": "text",
    "texts": "a text or a list of texts",
    "number": "a number",
    "numbers": "numbers by name",
    "names": "names by name",
    "seconds": "a duration such as 90, 500ms or 14d",
    "mapping": "keys and values",
    "list": "a list",
    "flag": "true or false",
}
_PLUGIN_KINDS = (
    "vcs collector postprocessor view storage check format workload executor diff aggregate "
    "notifier command environment"
)
_PLUGIN_SECTIONS = _PLUGIN_KINDS.split()


class Layer(NamedTuple):
    """One file's worth of configuration, checked. `digest` is that of its place and content: so it is trusted."""

    name: LayerName
    values: Mapping[str, Any]
    path: Path | None = None
    digest: str = ""

    @property
    def running(self) -> tuple[str, ...]:
        """The keys it sets that make something run: commands, the choice of a plugin that is not the default
        anyway, and options of plugins, of which nobody but the plugin knows what they do."""
        keys = [
            key for key, spec in KEYS.items() if spec.runs and _lookup(self.values, key) not in (None, spec.default)
        ]
        return (*keys, *(f"{kind}.{name}" for kind in _PLUGIN_SECTIONS for name in self.plugins(kind)))

    def plugins(self, kind: str) -> tuple[str, ...]:
        """The names of the plugins of a kind that it has options for."""
        section = _lookup(self.values, kind)
        below = section if isinstance(section, Mapping) else {}
        return tuple(
            str(name) for name, value in below.items() if isinstance(value, Mapping) and f"{kind}.{name}" not in KEYS
        )


class Config(NamedTuple):
    """The layers, weakest first."""

    layers: tuple[Layer, ...] = ()

    def get(self, key: str) -> Any:
        """The strongest value of a key, or its default."""
        for layer in reversed(self.layers):
            if (value := _lookup(layer.values, key)) is not None:
                return _checked(key, value, layer.path)
        return KEYS[key].default if key in KEYS else None

    def origin(self, key: str) -> Layer | None:
        """The layer that `get` takes a key from; None for its default."""
        return next((layer for layer in reversed(self.layers) if _lookup(layer.values, key) is not None), None)

    def plugin_options(self, kind: str, name: str) -> dict[str, Any]:
        """The configured options of a plugin, all layers together."""
        options: dict[str, Any] = {}
        for layer in self.layers:
            section = _lookup(layer.values, f"{kind}.{name}")
            if isinstance(section, Mapping):
                options.update(section)
        return options

    def with_layer(self, name: LayerName, values: Mapping[str, Any]) -> Config:
        return Config((*self.layers, Layer(name, values)))

    def flat(self) -> Iterator[tuple[str, Any, str]]:
        """(key, value, layer) of everything that is set, sorted, then nothing of the defaults."""
        settings = {key: (value, layer.name) for layer in self.layers for key, value in _flatten(layer.values)}
        for key in sorted(settings):
            yield key, *settings[key]


def read_layer(name: LayerName, path: Path) -> Layer:
    """The layer in a file; empty where the file does not exist. UsageError on unknown keys."""
    return parse_layer(name, read_bytes(path) or b"", path)


def parse_layer(name: LayerName, data: bytes, path: Path) -> Layer:
    """The layer that these bytes of a file are. FormatError where they are so many that every command would wait."""
    if len(data) > MAX_LAYER_BYTES:
        hint = "a job matrix can have a file of its own: perf run matrix FILE"
        raise FormatError(f"{path} is larger than {MAX_LAYER_BYTES:,} bytes", hint=hint)
    if not data.strip():
        return Layer(name, {}, path, digest(data, path))
    source = Source(str(path), data)
    if (values := documents.parse(data, source.name)) is None:  # comments only
        values = {}
    if not isinstance(values, Mapping):
        raise UsageError(f"{path} should hold keys and values")
    check_keys(values, source)
    return Layer(name, values, path, digest(data, path))


def read_bytes(path: Path, limit: int = MAX_BYTES) -> bytes | None:
    """A configuration file's bytes, None where it is not there, an error where it is no such file: a clone may have a
    link to /dev/stdin in its place."""
    with contextlib.suppress(NotFoundError):
        return files.read(path, limit).data
    return None


def digest(data: bytes, path: Path | None = None) -> str:
    """By what a file is trusted, where it is: `make` runs another program elsewhere."""
    return sha256(data if path is None else bytes(path.resolve()) + b"\0" + data).hexdigest()


def check_keys(values: Mapping[str, Any], where: Source) -> None:
    """UsageError for a key that nobody reads, naming the nearest."""
    sections = {key.partition(".")[0] for key in KEYS} | set(_PLUGIN_SECTIONS)
    for name, value in values.items():
        if name not in sections:
            raise UsageError(f"{where.at(name)}: unknown key {brief(str(name))}", hint=nearest(str(name), sections))
        inner = {key.partition(".")[2] for key in KEYS if key.startswith(f"{name}.")}
        if not inner:
            continue
        if not isinstance(value, Mapping):
            raise UsageError(f"{where}: {name!r} should hold keys and values")
        for key, below in value.items():
            if key not in inner and not (name in _PLUGIN_SECTIONS and isinstance(below, Mapping)):
                unknown = brief(f"{name}.{key}")
                raise UsageError(f"{where.at(key)}: unknown key {unknown}", hint=nearest(str(key), inner))


def check_key(key: str) -> None:
    """UsageError for a dotted key that nobody reads."""
    kind, _, option = key.partition(".")
    if key in KEYS or (kind in _PLUGIN_SECTIONS and option.count(".") == 1 and all(option.split("."))):
        return
    raise UsageError(f"unknown configuration key {key!r}", hint=nearest(key, KEYS))


class Written(NamedTuple):
    """A file's bytes before and after a change."""

    before: bytes
    after: bytes


def set_value(path: Path, key: str, value: Any, *, lock: Path | None = None) -> Written:
    """Set a dotted key (None: remove it) in a YAML file, comments kept. Whoever changes the file at the same time
    takes the same lock, by default a file beside it."""
    check_key(key)
    from ruamel.yaml import YAML

    yaml = YAML()
    with _changing(path, lock or path.with_name(path.name + ".lock")):
        current = read_bytes(path) or b""
        parse_layer("local", current, path)
        ending = b"\r\n" if b"\r\n" in current else b"\n"
        document = yaml.load(current.decode().replace("\r\n", "\n")) if current.strip() else None
        document = {} if document is None else document
        _place(document, key.split(".") if key not in KEYS else key.split(".", 1), value)
        _checked(key, value, path)
        buffer = io.BytesIO()
        yaml.dump(document, buffer)
        changed = buffer.getvalue().replace(b"\n", ending)
        parse_layer("local", changed, path)
        write_atomically(path, changed)
        return Written(current, changed)


@contextlib.contextmanager
def _changing(path: Path, lock: Path) -> Iterator[None]:
    """Keep others from changing a file, whose folder is made where there is none."""
    from perfcore.locks import Lock

    name = printable(str(path))
    busy = StorageError(f"{name} is being changed by another process", hint="try again when that has ended")
    with contextlib.ExitStack() as stack:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(Lock(lock).hold(_PATIENCE, busy))
        except OSError as error:
            raise StorageError(f"cannot write {name}: {error.strerror}") from error
        yield


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file of the configuration whole or not at all; its mode stays."""
    try:
        files.write_atomically(path, data)
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}") from error


def _place(document: Any, parts: Sequence[str], value: Any) -> None:
    for name in parts[:-1]:
        if not isinstance(document.get(name), Mapping):
            document[name] = {}
        document = document[name]
    if value is None:
        document.pop(parts[-1], None)
    else:
        document[parts[-1]] = value


def _lookup(values: Mapping[str, Any], key: str) -> Any:
    node: Any = values
    for name in key.split("."):
        if not isinstance(node, Mapping) or name not in node:
            return None
        node = node[name]
    return node


def _flatten(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and name not in KEYS:
            yield from _flatten(value, f"{name}.")
        else:
            yield name, value


def _at_least(minimum: float | None, value: float) -> float:
    if minimum is not None and value < minimum:
        raise ValueError
    return value


def _checked(key: str, value: Any, path: Path | None) -> Any:
    if key not in KEYS or value is None:
        return value
    kind, prefix = KEYS[key].kind, f"{path}: " if path else ""
    try:
        if kind == "seconds":
            from perfcore.config.settings import parse_seconds

            return parse_seconds(value)
        if kind == "texts":
            return [value] if isinstance(value, str) else [_text(item) for item in value]
        if kind == "number":
            return _at_least(KEYS[key].minimum, _number(value))
        if kind == "list":
            return list(value) if isinstance(value, list | tuple) else [value]
        if kind == "mapping" and isinstance(value, Mapping):
            return value
        if kind in ("numbers", "names") and isinstance(value, Mapping):
            read = _number if kind == "numbers" else _text
            return {_text(name): read(item) for name, item in value.items()}
        if kind == "flag" and isinstance(value, bool):
            return value
        if kind == "text":
            return _text(value)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{prefix}{key} wants {_WANTED[kind]}, got {brief(value)}") from error
    raise UsageError(f"{prefix}{key} wants {_WANTED[kind]}, got {brief(value)}")


def _number(value: Any) -> float:
    if isinstance(value, bool):  # which is an int in Python
        raise TypeError("not a number")
    return value if isinstance(value, int | float) else float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not text")
    return value
