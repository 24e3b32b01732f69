"""Trees of other versions, made to be measured and removed afterwards."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from perfcore.errors import FormatError, StorageError, UsageError, VersionError
from perfcore.repository.scratch import LockedDirs, tree_remover
from perfcore.text import printable

if TYPE_CHECKING:
    from perfcore.hookspecs import Vcs
    from perfcore.model import Source
    from perfcore.plugins.registry import Plugins
    from perfcore.repository.repository import Repository


class Exporter(Protocol):
    """Makes and removes trees of versions."""

    def export(self, version: str, directory: Path) -> None:
        """The clean tree of a version in a directory that does not exist yet."""

    def remove(self, directory: Path) -> None:
        """Called before the files of a tree are deleted."""


class VcsExporter:
    """Takes trees from a version control system, as linked working trees where it has them."""

    def __init__(self, vcs: Vcs) -> None:
        self._vcs = vcs

    def export(self, version: str, directory: Path) -> None:
        if hasattr(self._vcs, "worktree"):
            self._vcs.worktree(version, directory)
        else:
            directory.mkdir()
            self._vcs.export(version, directory)

    def remove(self, directory: Path) -> None:
        tree_remover(self._vcs)(directory)


class BundleExporter:
    """Takes trees from the bundles of a plan."""

    def __init__(self, bundles: Mapping[str, bytes]) -> None:
        self._bundles = bundles

    def export(self, version: str, directory: Path) -> None:
        if version not in self._bundles:
            raise VersionError(f"the plan brings no tree of version {version[:10]}")
        unpack(self._bundles[version], directory)

    def remove(self, directory: Path) -> None: ...


def unpack(bundle: bytes, directory: Path) -> None:
    """Unpack a tree, a tar archive compressed by gzip, into a new directory. FormatError for an invalid bundle, or one
    with paths outside of the directory; StorageError where the directory cannot be written. It is gone then."""
    import io
    import platform
    import shutil
    import tarfile

    directory.mkdir(parents=True)
    try:
        with tarfile.open(fileobj=io.BytesIO(bundle), mode="r:gz") as archive:
            archive.extractall(directory, filter="data")  # PEP 706: no path outside, no device, no set-uid bit
    except (tarfile.TarError, OSError, EOFError, ValueError) as error:
        shutil.rmtree(directory, ignore_errors=True)  # the next tree may have room then
        if isinstance(error, OSError) and error.errno is not None:  # not of gzip
            where = f"{printable(str(directory))} on {printable(platform.node())}"
            raise StorageError(f"a tree cannot be unpacked to {where}: {error.strerror}") from error
        raise FormatError(f"the bundle of a tree cannot be unpacked: {error}") from error


def exporter_of(source: Source, plugins: Plugins, directory: Path) -> Exporter:
    """The exporter of a plan's source, with its copies in a directory. UsageError where the source is incomplete."""
    if source.kind == "bundle":
        return BundleExporter(source.bundles)
    if source.vcs is None or source.root is None:
        raise UsageError(f"a source of kind {source.kind} makes trees only with a VCS and its root")
    from perfcore.repository.repository import open_vcs

    _, vcs = open_vcs(plugins, source.vcs.name, source.vcs.params, source.root, lambda: directory)
    return VcsExporter(vcs)


class VersionTrees(LockedDirs):
    """The trees that one command holds, as a context manager: all at paths of one length."""

    def __init__(self, directory: Path, exporter: Exporter) -> None:
        super().__init__(directory, "tree", exporter.remove)
        self._exporter = exporter

    def get(self, version: str) -> Path:
        """A clean tree of the version, at the same path as before where that is free: builds write their paths down."""
        path = self.acquire(zlib.crc32(version.encode()))
        self._exporter.export(version, path)
        return path


class Trees(VersionTrees):
    """The same of a repository's versions."""

    def __init__(self, repository: Repository) -> None:
        super().__init__(repository.scratch, VcsExporter(repository.vcs))
