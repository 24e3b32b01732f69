"""Sources of a version for views, with the texts of generated code that its samples came with."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from perfcore_command_kit.sources import VersionSources
from perfcore_fleet_kit.dynamic_code import LINES_OF, line_ranges, named_file
from perfcore_fleet_kit.state import FleetState

from perfcore.errors import FormatError, NotFoundError
from perfcore.repository.repository import Repository


class FleetSources:
    """Files of versions, texts of generated code (`eval:SHA-1`), and under `#line:NAME` the first text with lines of a
    logical file."""

    def __init__(self, repository: Repository, state: FleetState) -> None:
        self._repository = repository
        self._state = state
        self._of_versions = VersionSources(repository)

    def read(self, version: str, path: str) -> bytes | None:
        """The bytes, or None. Texts are those that the state of the version has, whatever `version` is."""
        if path.startswith(LINES_OF):
            name = self._logical.get(path.removeprefix(LINES_OF))
            return None if name is None else self._texts[name]
        return self._texts.get(path) or self._of_versions.read(version, path)

    @functools.cached_property
    def _texts(self) -> dict[str, bytes]:
        return dict(sorted(self._stored()))

    @functools.cached_property
    def _logical(self) -> dict[str, str]:
        """The first text with lines of each logical file."""
        files: dict[str, str] = {}
        for name, data in self._texts.items():
            for each in line_ranges(data.decode("utf-8", "surrogatepass")):
                files.setdefault(each.file, name)
        return files

    def _stored(self) -> Iterator[tuple[str, bytes]]:
        streams = self._state.streams().values()
        for id in sorted({id for receipts in streams for receipt in receipts for id in receipt.codes.values()}):
            try:
                data = self._repository.store.get(id, "code").content
                yield named_file(data.decode("utf-8", "surrogatepass")), data
            except (NotFoundError, FormatError, UnicodeDecodeError):  # its page says that the text is missing
                continue
