"""Plans handed to an executor, with the facilities of a repository that the runner needs."""

from __future__ import annotations

from collections.abc import Iterator

from perfcore.measure import stored_command
from perfcore.measure.runner import Context
from perfcore.measure.scratch import place_of
from perfcore.model import Measured, Plan
from perfcore.model.listener import Listener
from perfcore.plugins.registry import Plugins
from perfcore.repository.repository import Repository


def runner_context(repository: Repository, listener: Listener) -> Context:
    """The facilities of a repository for the runner."""
    return Context(
        plugins=repository.plugins,
        options=repository.plugin_options,
        machine=repository.facts(),
        schedule=repository.config.get("schedule"),
        progress=listener.progress,
        place=place_of(repository),
    )


def submit(plugins: Plugins, plan: Plan, repository: Repository | None) -> Iterator[Measured]:
    """The measurements of a plan whose `context` comes from `runner_context`. Their commands are listed as the user's
    own, so that `perf bisect` may run them again without asking; `repository` is None outside of one."""
    _, executor = plugins.make("executor", "local")
    for measured in executor.submit(plan):
        if repository is not None and measured.profile is not None:
            stored_command.note_measured(repository, measured.profile)
        yield measured
