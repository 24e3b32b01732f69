"""The job matrix: commands, their arguments, workloads, collectors and postprocessors, as a cartesian product.

    collectors: [{name: time, repeat: 10}]
    postprocessors: [{name: filter, expression: "<20"}]
    bins:
      - {name: gaston, params: ["-p -q -g", "-s 10"]}
      - {name: mona, params: ["-q -s"]}
    workloads: [ex10.mona, {generator: lines, lines: [1000, 10000]}]

A workload takes the place of `{workload}` in the command, or stands behind it. Strings are split into arguments as a
shell would split them; a list is taken as it is.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from perfcore.config import documents
from perfcore.config.documents import Source
from perfcore.config.layers import Config, check_keys
from perfcore.config.settings import structure
from perfcore.errors import UsageError, nearest
from perfcore.measure.commands import split
from perfcore.measure.schedule import Schedule
from perfcore.model import EMPTY, Job, Step
from perfcore.model.measurements import WORKLOAD
from perfcore.model.record import replace
from perfcore.text import brief
from perfcore_command_run.workloads import Files, Generator

# Jobs: the lists of a matrix multiply, so a mistake in one would make countless jobs.
MAX_JOBS = 10_000
KEYS = ("collectors", "postprocessors", "bins", "cmds", "args", "workloads", "schedule", "execute")
_BIN_KEYS = ("name", "params", "args", "values", "workloads", "env", "shell")


@attrs.frozen
class Command:
    """A job that is complete but for its tree, version and collector; that of a generator, also but for its files."""

    job: Job
    generator: Generator | None = None

    def jobs(self, files: Files) -> Iterator[Job]:
        """A job for each file of the generator; the one job where there are none."""
        generated = () if self.generator is None else files.get(self.generator.folder, ())
        for file in generated:
            yield replace(self.job, workload=shlex.quote(file.label), workload_file=file.path)
        if not generated:
            yield self.job


@attrs.frozen(kw_only=True)
class Matrix:
    """A matrix without trees and versions."""

    commands: tuple[Command, ...]
    collectors: tuple[Step, ...]
    postprocessors: tuple[Step, ...]
    schedule: Mapping[str, Any]
    execute: Mapping[str, Any]
    name: str = ""

    @property
    def generators(self) -> tuple[Generator, ...]:
        """The generators of all commands, each once."""
        generators = {command.generator.folder: command.generator for command in self.commands if command.generator}
        return tuple(generators.values())

    def jobs(self, files: Files = EMPTY) -> tuple[Job, ...]:
        """Every command under every collector. UsageError where generated files make too many."""
        jobs = tuple(itertools.islice(self._jobs(files), MAX_JOBS * len(self.collectors) + 1))
        if len(jobs) > MAX_JOBS * len(self.collectors):
            raise _too_many(self.name)
        return jobs

    def _jobs(self, files: Files) -> Iterator[Job]:
        for command in self.commands:
            for job in command.jobs(files):
                for collector in self.collectors:
                    yield replace(job, collector=collector, postprocessors=self.postprocessors)


def from_config(config: Config) -> Matrix:
    """The matrix of the repository's configuration."""
    values = {key: config.get(key) for key in KEYS if key != "execute"}
    return parse(values, where=Source("the configuration"))


def parse(values: Mapping[str, Any], *, where: Source) -> Matrix:
    """A matrix from the mapping of a YAML file. UsageError opened by `where`."""
    for key in values:
        if key not in KEYS:
            raise UsageError(f"{where.at(key)}: unknown key {brief(str(key))}", hint=nearest(str(key), KEYS))
    commands = tuple(itertools.islice(_commands(values, where), MAX_JOBS + 1))
    if not commands:
        raise UsageError(f"{where}: there is no command to measure", hint="name one under `bins`")
    if len(commands) > MAX_JOBS:
        raise _too_many(str(where))
    collectors = tuple(_step(item, where, "collectors") for item in _list(values.get("collectors"), where))
    execute = _mapping(values.get("execute"), where, "execute")
    check_keys({"execute": execute}, where)
    schedule = _mapping(values.get("schedule"), where, "schedule")
    structure(Schedule, schedule, where=f"{where}: schedule")
    return Matrix(
        commands=commands,
        collectors=collectors or (Step(name="time"),),
        postprocessors=tuple(
            _step(item, where, "postprocessors") for item in _list(values.get("postprocessors"), where)
        ),
        schedule=schedule,
        execute=execute,
        name=str(where),
    )


def _too_many(name: str) -> UsageError:
    return UsageError(f"{name}: there are more than {MAX_JOBS:,} commands to measure", hint="take a part at a time")


def _commands(values: Mapping[str, Any], where: Source) -> Iterator[Command]:
    reader = _Workloads(where)
    everywhere = _words_list(values.get("args"), where) or [("", [])]
    workloads = reader.read(values.get("workloads"), ("workloads",))
    for key in ("bins", "cmds"):
        for position, item in enumerate(_list(values.get(key), where)):
            entry = item if isinstance(item, Mapping) else {"name": item}
            for name in entry:
                if name not in _BIN_KEYS:
                    raise UsageError(
                        f"{where.at(name)}: bins: unknown key {brief(str(name))}",
                        hint=nearest(str(name), _BIN_KEYS) or f"known keys: {', '.join(_BIN_KEYS)}",
                    )
            loads = workloads
            if "workloads" in entry:  # also an empty list, for a command that takes none of those of the matrix
                loads = reader.read(entry["workloads"], (key, position, "workloads"))
            yield from _of_bin(entry, everywhere, loads, where)


def _of_bin(
    entry: Mapping[str, Any],
    everywhere: list[tuple[str, list[str]]],
    workloads: list[_Load],
    where: Source,
) -> Iterator[Command]:
    shell = bool(entry.get("shell", False))
    name, argv = _words(entry.get("name"), where, "name", shell)
    if not argv or not argv[0].strip():
        raise UsageError(f"{where}: a command under bins has no name")
    own_arguments = [*_words_list(entry.get("params"), where), *_words_list(entry.get("args"), where)]
    env = {str(key): str(value) for key, value in _mapping(entry.get("env"), where, "env").items()}
    values = _mapping(entry.get("values"), where, "values")
    for params, param_words in own_arguments or everywhere:
        for (cmd, args, *filled_words), chosen in _filled(
            [name, params, *argv, *param_words], values, where, shell=shell
        ):
            for load in workloads or [_Load("", [])]:
                text = " ".join(word for word in (cmd, args) if word)
                words = [_with_text(text, load)] if shell else list(_with_words(filled_words, load))
                if not words or not words[0].strip():
                    raise UsageError(f"{where}: nothing is left of the command {name} with its values")
                job = Job(
                    argv=tuple(words), cmd=cmd, args=args, workload=load.text, shell=shell, env=env, params=chosen
                )
                yield Command(job, load.generator)


def _filled(
    words: list[str], values: Mapping[str, Any], where: Source, *, shell: bool
) -> list[tuple[list[str], Mapping[str, str]]]:
    """The words with each combination of values in the places of their names, as `perf collect --param` fills them, and
    the values."""
    if not values:
        return [(words, {})]
    from perfcore.measure.params import filled

    texts = [f"{name}={','.join(map(str, _list(listed, where)))}" for name, listed in values.items()]
    try:
        return filled([words], texts, shell=shell)
    except UsageError as error:
        raise UsageError(f"{where}: {error.message.replace('--param ', 'values: ')}", hint=error.hint) from error


def _with_words(words: list[str], load: _Load) -> Iterator[str]:
    """The words with those of the workload in the place of `{workload}`, or behind them."""
    if not any(WORKLOAD in word for word in words):
        yield from (*words, *load.words)
        return
    for word in words:
        # A workload of several words stays several words where it stands alone, as behind the command.
        if word == WORKLOAD and load.words:
            yield from load.words
        else:
            yield word.replace(WORKLOAD, " ".join(load.words)) if load.words else word


def _with_text(text: str, load: _Load) -> str:
    load_text = WORKLOAD if load.generator else load.text
    if WORKLOAD in text:
        return text.replace(WORKLOAD, load_text) if load_text else text
    return f"{text} {load_text}" if load_text else text


@attrs.frozen
class _Load:
    """A workload as people read it and as words. That of a generator is `{workload}` until its files exist."""

    text: str
    words: list[str]
    generator: Generator | None = None


@attrs.define
class _Workloads:
    """Reads the lists of workloads of one matrix, in which each generator gets a folder of its own."""

    where: Source
    folders: set[str] = attrs.field(factory=set)

    def read(self, value: Any, path: tuple[str | int, ...]) -> list[_Load]:
        loads = []
        for position, item in enumerate([value] if isinstance(value, Mapping) else _list(value, self.where)):
            if isinstance(item, Mapping):
                generator = self._generator(item, (*path, position))
                loads.append(_Load(generator.label, [WORKLOAD], generator))
            else:
                loads.append(_Load(*_words(item, self.where, "arguments")))
        return loads

    def _generator(self, entry: Mapping[str, Any], path: tuple[str | int, ...]) -> Generator:
        location = self._location(path)
        name = entry.get("generator")
        if not isinstance(name, str) or not name:
            raise UsageError(
                f"{location}: a workload is text, or keys and values with `generator`, got {brief(entry)}",
                hint="- {generator: lines, lines: [1000, 10000]}",
            )
        for key in entry:
            if not isinstance(key, str):
                raise UsageError(f"{location}: the keys of a generator are text, got {brief(key)}")
        options = entry.get("options")
        if options is not None and not isinstance(options, Mapping):
            raise UsageError(f"{location}: options of a generator should hold keys and values, got {brief(options)}")
        return Generator(
            name=name,
            spec={key: value for key, value in entry.items() if key not in ("generator", "options")},
            options=dict(options or {}),
            location=location,
            folder=self._folder(name),
        )

    def _location(self, path: tuple[str | int, ...]) -> str:
        line = documents.lines(self.where.data).get(path) if self.where.data else None
        return f"{self.where}, line {line}" if line else f"{self.where}: {_dotted(path)}"

    def _folder(self, name: str) -> str:
        """The name of the generator, with a number from the second one on. It begins the label of each file."""
        # The name of a driver in full has a colon, and labels are words of a command line.
        stem = re.sub(r"[^A-Za-z0-9_.-]", "_", name).strip(".") or "workload"
        names = itertools.chain([stem], (f"{stem}-{count}" for count in itertools.count(2)))
        folder = next(name for name in names if name not in self.folders)
        self.folders.add(folder)
        return folder


def _dotted(path: tuple[str | int, ...]) -> str:
    """A path as people read it: `bins[1].workloads[0]`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def _words_list(value: Any, where: Source) -> list[tuple[str, list[str]]]:
    return [_words(item, where, "arguments") for item in _list(value, where)]


def _words(value: Any, where: Source, what: str, shell: bool = False) -> tuple[str, list[str]]:
    """(as people read it, as words)."""
    if isinstance(value, list | tuple):
        words = [str(word) for word in value]
        return shlex.join(words), words
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return str(value), [str(value)] if shell else split(str(value), where)
    if value is None or isinstance(value, bool):
        raise UsageError(
            f"{where}: {what} should be text, got {brief(value)}",
            hint='YAML reads true, no, null and the like as values: write "true"',
        )
    raise UsageError(f"{where}: {what} should be text, got {brief(value)}")


def _step(item: Any, where: Source, what: str) -> Step:
    if isinstance(item, str):
        return Step(name=item)
    if isinstance(item, Mapping) and isinstance(item.get("name"), str):
        params = {str(key): value for key, value in item.items() if key not in ("name", "params")}
        return Step(name=item["name"], params={**params, **_mapping(item.get("params"), where, what)})
    raise UsageError(f"{where}: {what} holds {brief(item)}, which has no name")


def _list(value: Any, where: Source) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, Mapping):
        raise UsageError(f"{where}: a list is wanted, got a mapping with {', '.join(map(str, value))}")
    return list(value) if isinstance(value, list | tuple) else [value]


def _mapping(value: Any, where: Source, what: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise UsageError(f"{where}: {what} should hold keys and values, got {brief(value)}")
    return value
