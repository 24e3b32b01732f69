"""What several verbs ask for: a release, the length of boxes, and samples by labels, a saved query, and time."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from typing import Annotated, Any

import attrs
import typer
from perfcore_fleet_kit.query import Query

from perfcore.repository.repository import Repository
from perfcore_command_fleet import saved, times

Revision = Annotated[
    str | None, typer.Argument(metavar="[REV]", help="The release; default: the head.", show_default=False)
]
Box = Annotated[str, typer.Option("--box", metavar="TIME", help="The length of a box.")]
Where = Annotated[str | None, typer.Option("--where", metavar="L=V[|V],...", help="Only samples with these labels.")]
Named = Annotated[str | None, typer.Option("--query", metavar="NAME", help="The conditions of a saved query.")]
Since = Annotated[str | None, typer.Option("--since", metavar="TIME", help="Only samples since 2h ago, or a date.")]
Until = Annotated[str | None, typer.Option("--until", metavar="TIME", help="Only samples up to a time.")]
_OPTIONS = {"where": Where, "named": Named, "since": Since, "until": Until}
_PARAMETER = "question"


@attrs.frozen
class Question:
    """What the options say. `named` is the name of a saved query."""

    where: str | None = None
    named: str | None = None
    since: str | None = None
    until: str | None = None

    @property
    def name(self) -> str:
        """The name of the saved query; empty without one."""
        return self.named or ""

    def query(self, repository: Repository) -> Query:
        """The samples that are asked for now. NotFoundError where there is no such saved query."""
        now = time.time_ns()
        conditions = saved.parse_where(self.where)
        if self.named is not None:
            conditions += saved.query_named(repository, self.named)
        return Query(conditions, times.moment("--since", self.since, now), times.moment("--until", self.until, now))


EVERYTHING = Question()


def asking(verb: Callable[..., None]) -> Callable[..., None]:
    """The verb with these options in the place of its parameter `question`, in which it gets what they say."""
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(verb, eval_str=True).parameters.values():
        if parameter.name != _PARAMETER:
            parameters.append(parameter)
            continue
        parameters += [
            inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=annotation)
            for name, annotation in _OPTIONS.items()
        ]

    def command(*positional: Any, **arguments: Any) -> None:
        words = {name: arguments.pop(name, None) for name in _OPTIONS}
        verb(*positional, question=Question(**words), **arguments)

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    # Typer reads parameters off the signature and the annotations.
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    command.__doc__ = verb.__doc__
    command.__name__ = verb.__name__
    return command
