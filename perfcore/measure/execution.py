"""Plans handed to an executor, with the facilities of a repository that the runner needs."""

from __future__ import annotations

import inspect
from collections.abc import Generator
from typing import TYPE_CHECKING

from perfcore.hookspecs import EXECUTOR
from perfcore.measure import stored_command
from perfcore.measure.runner import Context
from perfcore.measure.trees import VcsExporter
from perfcore.model import Measured, Plan
from perfcore.plugins.registry import Plugins
from perfcore.repository.repository import Repository
from perfcore.repository.scratch import directory_of

if TYPE_CHECKING:
    from perfcore.hookspecs import Executor
    from perfcore.model.listener import Listener


def runner_context(repository: Repository, listener: Listener) -> Context:
    """The facilities of a repository for the runner."""
    return Context(
        plugins=repository.plugins,
        options=repository.plugin_options,
        machine=repository.facts(),
        schedule=repository.config.get("schedule"),
        progress=listener.progress,
        directory=directory_of(repository),
        exporter=VcsExporter(repository.vcs),
    )


def executor_name(repository: Repository, name: str | None = None) -> str:
    """The executor that a user names, or else the configuration. UntrustedError for an untrusted configuration."""
    return name or str(repository.trusted("executor.name"))


def chosen_executor(repository: Repository, name: str | None = None) -> Executor:
    """The executor of this name, or of the configuration, with its configured options."""
    name = executor_name(repository, name)
    return repository.plugins.make(EXECUTOR, name, repository.plugin_options("executor", name))[1]


def submit(
    plugins: Plugins,
    plan: Plan,
    executor: Executor | None = None,
    listener: Listener | None = None,
    repository: Repository | None = None,
) -> Generator[Measured, None, None]:
    """The answers of an executor (None: `local`) to a plan whose `context` comes from `runner_context`. Closing this
    cancels. A plan without jobs is not submitted. In a repository the measured commands are listed as the user's own,
    so that `perf bisect` may run them again without a question."""
    if not plan.jobs:
        return
    driver = plugins.make(EXECUTOR, "local")[1] if executor is None else executor
    hears = len(inspect.signature(driver.submit).parameters) > 1
    answers = driver.submit(plan, listener) if hears else driver.submit(plan)
    try:
        for measured in answers:
            if repository is not None and measured.profile is not None:
                stored_command.note_measured(repository, measured.profile)
            yield measured
    finally:
        if isinstance(answers, Generator):
            answers.close()
