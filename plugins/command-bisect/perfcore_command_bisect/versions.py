"""Versions made ready to be measured: a tree each, built once, kept while there is room."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Self

from perfcore_executor_local.build_cache import Builder
from perfcore_executor_local.trees import Trees

from perfcore.model import Build
from perfcore.repository.repository import Repository

ROOM = 8  # built trees beside those to keep: bounds the disk space, and the latest serve a search that returns to them


class Versions:
    """The built trees of one command, as a context manager."""

    def __init__(self, repository: Repository, building: Build, keep: Collection[str] = ()) -> None:
        """The trees of the versions in `keep` stay to the end; of the others the latest ROOM."""
        self._repository = repository
        self._builder = Builder(building, repository.scratch, repository.plugins)
        self._activations: dict[str, Mapping[str, str]] = {}
        self._keep = frozenset(keep)
        self._held: dict[str, tuple[contextlib.ExitStack, Path]] = {}

    def __enter__(self) -> Self:
        with Trees(self._repository):  # removes what killed commands left
            return self

    def __exit__(self, *_: object) -> None:
        for version in reversed(list(self._held)):
            self._let_go(version)

    def is_ready(self, version: str) -> bool:
        return version in self._held

    def get(self, version: str) -> Path:
        """The built tree of a version. CommandFailedError where it does not build."""
        if version in self._held:
            self._held[version] = self._held.pop(version)  # the latest
            return self._held[version][1]
        with contextlib.ExitStack() as stack:
            path = stack.enter_context(Trees(self._repository)).get(version)
            builder = self._builder.activated(path, stack)
            builder.run(path, version)
            self._activations[version] = builder.build.activation
            # Only a tree that was built is kept: the stack removes one whose build failed.
            self._held[version] = stack.pop_all(), path
        unprotected = [held for held in self._held if held not in self._keep]
        for version_id in unprotected[:-ROOM]:
            self._let_go(version_id)
        return path

    def activation(self, version: str) -> Mapping[str, str]:
        """The variables of the environment of a version whose tree is ready."""
        return self._activations[version]

    def _let_go(self, version: str) -> None:
        self._held.pop(version)[0].close()
