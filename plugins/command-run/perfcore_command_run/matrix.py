"""The job matrix: commands, their arguments, workloads, collectors and postprocessors, as a cartesian product.

    collectors: [{name: time, repeat: 10}]
    postprocessors: [{name: filter, expression: "<20"}]
    bins:
      - {name: gaston, params: ["-p -q -g", "-s 10"]}
      - {name: mona, params: ["-q -s"]}
    workloads: [ex10.mona, ex14.mona]

Strings are split into arguments as a shell would split them; a list is taken as it is.
"""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from perfcore.config.documents import Source
from perfcore.config.layers import Config, check_keys
from perfcore.config.settings import structure
from perfcore.errors import UsageError, nearest
from perfcore.measure.commands import split
from perfcore.measure.schedule import Schedule
from perfcore.model import Job, Step
from perfcore.text import brief

# Jobs: the lists of a matrix multiply, so a mistake in one would make countless jobs.
MAX_JOBS = 10_000
KEYS = ("collectors", "postprocessors", "bins", "cmds", "args", "workloads", "schedule", "execute")
_BIN_KEYS = ("name", "params", "args", "workloads", "env", "shell")


@attrs.frozen(kw_only=True)
class Matrix:
    """A matrix without trees and versions: `commands` are jobs that are complete but for these."""

    commands: tuple[Job, ...]
    collectors: tuple[Step, ...]
    postprocessors: tuple[Step, ...]
    schedule: Mapping[str, Any]
    execute: Mapping[str, Any]

    def jobs(self) -> tuple[Job, ...]:
        """Every command under every collector."""
        return tuple(
            attrs.evolve(command, collector=collector, postprocessors=self.postprocessors)
            for command in self.commands
            for collector in self.collectors
        )


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
        raise UsageError(f"{where}: there are more than {MAX_JOBS:,} commands to measure", hint="take a part at a time")
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
    )


def _commands(values: Mapping[str, Any], where: Source) -> Iterator[Job]:
    everywhere = _words_list(values.get("args"), where) or [("", [])]
    workloads = _words_list(values.get("workloads"), where)
    for item in (*_list(values.get("bins"), where), *_list(values.get("cmds"), where)):
        entry = item if isinstance(item, Mapping) else {"name": item}
        for key in entry:
            if key not in _BIN_KEYS:
                raise UsageError(
                    f"{where.at(key)}: bins: unknown key {brief(str(key))}",
                    hint=nearest(str(key), _BIN_KEYS) or f"known keys: {', '.join(_BIN_KEYS)}",
                )
        yield from _of_bin(entry, everywhere, workloads, where)


def _of_bin(
    entry: Mapping[str, Any],
    everywhere: list[tuple[str, list[str]]],
    workloads: list[tuple[str, list[str]]],
    where: Source,
) -> Iterator[Job]:
    shell = bool(entry.get("shell", False))
    name, argv = _words(entry.get("name"), where, "name", shell)
    if not argv:
        raise UsageError(f"{where}: a command under bins has no name")
    own_arguments = [*_words_list(entry.get("params"), where), *_words_list(entry.get("args"), where)]
    env = {str(key): str(value) for key, value in _mapping(entry.get("env"), where, "env").items()}
    loads = _words_list(entry.get("workloads"), where) if "workloads" in entry else workloads
    for params, param_words in own_arguments or everywhere:
        for load, load_words in loads or [("", [])]:
            words = (*argv, *param_words, *load_words)
            full_argv = (" ".join(text for text in (name, params, load) if text),) if shell else words
            yield Job(argv=full_argv, cmd=name, args=params, workload=load, shell=shell, env=env)


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
