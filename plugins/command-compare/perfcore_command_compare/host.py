"""The machine and configuration that a measurement uses, inside a repository or outside of any."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs

from perfcore import environment
from perfcore.config.layers import Config
from perfcore.measure.execution import runner_context
from perfcore.measure.runner import Context
from perfcore.model.listener import Listener
from perfcore.plugins.registry import Plugins
from perfcore.repository.repository import Repository


@attrs.frozen(kw_only=True)
class Host:
    """`directory` is the tree of programs outside of a repository."""

    directory: Path
    plugins: Plugins
    config: Config
    repository: Repository | None = None

    @classmethod
    def of(cls, repository: Repository) -> Host:
        return cls(
            directory=repository.root, plugins=repository.plugins, config=repository.config, repository=repository
        )

    @property
    def options(self) -> Callable[[str, str], Mapping[str, Any]]:
        """The configured options of a plugin by kind and name; inside a repository only trusted ones."""
        return self.config.plugin_options if self.repository is None else self.repository.plugin_options

    def context(self, listener: Listener) -> Context:
        if self.repository is not None:
            return runner_context(self.repository, listener)
        return Context(
            plugins=self.plugins,
            options=self.options,
            machine=environment.facts(self.plugins.emit("environment")),
            schedule=self.config.get("schedule"),
            progress=listener.progress,
        )
