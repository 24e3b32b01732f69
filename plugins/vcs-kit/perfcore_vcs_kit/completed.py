"""Files of versions for a VCS driver that only walks versions and checks them out.

The core asks a driver for its home directory, the tree, the files and the changes of a version. Each of these methods
is optional: without them, the answers come from a private copy of the repository, where `checkout` is called. The
user's working tree is never checked out, so a command that is killed leaves it as it was.

The copy holds what the VCS keeps for itself, and no file of the working tree: `save_state` in it gives a clean tree of
the head, and nothing that the user did not commit gets into the tree of a version.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from perfcore.errors import NotFoundError, VersionError
from perfcore.hookspecs import VCS_BUILT
from perfcore.text import printable
from perfcore_vcs_kit.private_copy import PrivateCopy

if TYPE_CHECKING:
    from perfcore.hookspecs import Vcs

# Entries of all manifests in memory, of 150 to 250 bytes each: at most 250 MB, for the trees of 100 versions of 10,000
# files. Older manifests are read again when they are needed.
_LARGEST_MANIFESTS = 1_000_000

Manifest = Mapping[str, bytes]  # path: hash of its kind, mode and content


def completed(
    driver: Vcs,
    root: Path,
    open_at: Callable[[Path], Vcs],
    directory: Path,
    note: Callable[[str], None] = lambda text: None,
) -> Vcs:
    """The driver itself if it has all methods that the core needs, or else with these built on the others. `open_at`
    opens the same kind of repository at another root; private copies stand in `directory`."""
    if all(hasattr(driver, method) for method in VCS_BUILT):
        return driver
    return cast("Vcs", CompletedVcs(driver, PrivateCopy(root, open_at, directory, note)))


class CompletedVcs:
    """A driver with the methods that it lacks. Its own methods are called first; optional methods that the core does
    not build stay missing."""

    def __init__(self, driver: Vcs, copy: PrivateCopy) -> None:
        self._driver = driver
        self._copy = copy
        self._manifests: dict[str, Manifest] = {}
        self._digests: dict[bytes, bytes] = {}  # equal files of several manifests share one object
        for method in VCS_BUILT:
            if hasattr(driver, method):
                setattr(self, method, getattr(driver, method))
        # A reference to the copy alone, so that the finalizer does not keep this object alive.
        weakref.finalize(self, copy.close)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)

    def close(self) -> None:
        """Remove the private copy. The next question makes it again."""
        self._copy.close()
        if hasattr(self._driver, "close"):
            self._driver.close()

    def home(self) -> Path:
        """The root: without `home`, no tree is linked to another."""
        return self._copy.root

    def saved_state(self) -> str | None:
        """None: the core saves no state in the user's tree, so there is none to restore."""
        return None

    def export(self, version: str, directory: Path) -> None:
        """The files of a version, copied from the private copy."""
        tree = self._tree(version)
        directory.mkdir(parents=True, exist_ok=True)
        if any(directory.iterdir()):
            raise VersionError(f"{printable(str(directory))} is not empty", hint="choose another directory")
        with _failing(f"cannot write version {version[:10]} to {printable(str(directory))}"):
            for path in _files(tree, self._copy.own_names):
                target = directory / path.relative_to(tree)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, target, follow_symlinks=False)

    def read_file(self, version: str, path: str) -> bytes:
        """The content of a file, or the target of a symbolic link."""
        tree = self._tree(version)
        names = path.split("/")
        if "\0" not in path and not {"", ".", ".."} & set(names) and names[0] not in self._copy.own_names:
            file = tree.joinpath(*names)
            linked = any(parent.is_symlink() for parent in file.parents if parent != tree and tree in parent.parents)
            with contextlib.suppress(OSError):
                if not linked:
                    return _content(file)
        raise NotFoundError(f"version {version[:10]} has no file '{printable(path)}'")

    def changed_files(self, old: str | None, new: str) -> tuple[str, ...]:
        """The paths whose manifests differ."""
        before = {} if old is None else self._manifest(old)
        after = self._manifest(new)
        return tuple(sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path)))

    def _manifest(self, version: str) -> Manifest:
        """Every file of a version with its hash."""
        if version not in self._manifests:  # a version never changes, so its manifest holds for good
            tree = self._tree(version)
            with _failing(f"cannot read the files of version {version[:10]}"):
                self._manifests[version] = {
                    path.relative_to(tree).as_posix(): self._digests.setdefault(digest := _digest(path), digest)
                    for path in _files(tree, self._copy.own_names)
                }
            # A comparison needs two of them at a time, however large they are.
            while len(self._manifests) > 2 and sum(map(len, self._manifests.values())) > _LARGEST_MANIFESTS:
                del self._manifests[next(iter(self._manifests))]
        return self._manifests[version]

    def _tree(self, version: str) -> Path:
        """A clean tree of a version: by the driver's own `export`, or else by `checkout` in the private copy."""
        self._driver.check_minor_version_validity(version)
        if hasattr(self._driver, "export"):
            return self._copy.exported(version, self._driver.export)
        return self._copy.checked_out(version)


def _files(tree: Path, own_names: frozenset[str]) -> list[Path]:
    """Every file and symbolic link of a tree but for the files of the VCS."""
    paths: list[Path] = []
    for folder, folders, names in os.walk(tree):
        here = Path(folder)
        if here == tree:
            folders[:] = [name for name in folders if name not in own_names]
            names = [name for name in names if name not in own_names]
        links = [name for name in folders if (here / name).is_symlink()]
        paths += [here / name for name in (*names, *links)]
    return paths


def _content(path: Path) -> bytes:
    if path.is_symlink():
        return os.fsencode(os.readlink(path))
    return path.read_bytes()


def _digest(path: Path) -> bytes:
    """A hash over the kind, the executable bit and the content: what a change of a file is for a VCS."""
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        return b"l" + hashlib.sha256(os.fsencode(os.readlink(path))).digest()
    with path.open("rb") as file:
        content = hashlib.file_digest(file, "sha256").digest()
    return (b"x" if status.st_mode & stat.S_IXUSR else b"f") + content


@contextlib.contextmanager
def _failing(message: str) -> Any:
    """VersionError with this message for an error of the operating system."""
    try:
        yield
    except OSError as error:
        raise VersionError(f"{message}: {error.strerror or error}") from error
