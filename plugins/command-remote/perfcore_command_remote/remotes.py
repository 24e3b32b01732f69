"""Remotes: other places with a store, by the names that the user gave them, or that they have in git."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

from perfcore_command_kit.edited_files import keep_trusted

from perfcore.config import layers
from perfcore.config.layers import LOCAL_FILE
from perfcore.errors import NotFoundError, PluginError, StorageError, UsageError, nearest
from perfcore.hookspecs import STORAGE, Storage
from perfcore.named_tuple import NamedTuple
from perfcore.repository.location import DIRECTORY
from perfcore.repository.repository import Repository
from perfcore.store.store import Store
from perfcore.text import brief, printable

KEY = "remotes"
DEFAULT = "origin"
GIT, LOCAL, OBJECT = "git", "local", "object"
_SCHEMES = {"s3": OBJECT, "gs": OBJECT, "az": OBJECT}  # and their storages; all others are for git
_PACKAGES = {GIT: "perfcore-storage-git", OBJECT: "perfcore-storage-object"}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
# A scheme, or host:path as scp writes it.
_URL = re.compile(r"[a-z][a-z0-9+.-]*://|[^/:]+@?[^/:]*:(?!//)", re.IGNORECASE)
_BUCKET_WITHOUT_SLASHES = re.compile(rf"({'|'.join(_SCHEMES)}):(?!//)", re.IGNORECASE)
DAY = 86_400.0  # seconds
_HOLD = 3600.0  # seconds: longer than a transfer
_SPACE = "remotes"  # in the read model: paths that have a store


class Remote(NamedTuple):
    """A place by its name: a URL or a path, and the storage that reads it there. `of_vcs`: the VCS knows it, by a
    configuration that nobody has trusted."""

    name: str
    url: str
    storage: str
    of_vcs: bool = False

    @property
    def shown(self) -> str:
        """The URL for messages, without a password."""
        return printable(_masked(self.url))


def _masked(url: str) -> str:
    """The same without a password; a key of a bucket may have slashes."""
    secret = ".*" if _storage(url) == OBJECT else "[^/@]*"
    return re.sub(rf"(?<=://)([^/@:]*):{secret}@", r"\1:***@", url)


def _storage(url: str) -> str:
    """The storage that the scheme of a URL calls for."""
    return _SCHEMES.get(url.partition("://")[0].lower(), GIT)


def configured(repository: Repository) -> Mapping[str, str]:
    """The URLs of the remotes of `perf remote add`, by name. UntrustedError where somebody else's file names them."""
    urls: Mapping[str, str] = repository.trusted(KEY)
    return urls


def named(repository: Repository, name: str | None) -> Remote:
    """The remote of a name: one of perfcore, or else of the VCS. Without a name it is the default."""
    urls = configured(repository)
    name = default(repository) if name is None else name
    if name in urls:
        return remote(repository, name, urls[name])
    others = of_vcs(repository)
    url = others.get(name)
    if url is None:
        hint = nearest(name, [*urls, *others]) or f"perf remote add {name if _NAME.fullmatch(name) else DEFAULT} URL"
        raise NotFoundError(f"there is no remote {brief(name)}", hint=hint)
    return remote(repository, name, url, of_vcs=True)


def default(repository: Repository) -> str:
    """The name of the remote that is meant where none is named: of the only one, or `origin`, whether perfcore or the
    VCS knows it. UsageError where there are several, and none is `origin`."""
    urls = configured(repository)
    names = {DEFAULT} if DEFAULT in urls else {*urls, *of_vcs(repository)}
    if len(names) == 1:
        return names.pop()
    if names and DEFAULT not in names:
        raise UsageError(
            "there are several remotes, and none of them is origin: name one",
            hint=f"`perf remote` lists them, such as {min(names)}",
        )
    return DEFAULT


def is_known(repository: Repository, name: str) -> bool:
    """Whether a remote has this name."""
    return name in configured(repository) or name in of_vcs(repository)


def remote(repository: Repository, name: str, url: str, *, of_vcs: bool = False) -> Remote:
    """A remote with the storage that its URL calls for: a folder is a store, a bucket is for `object`, all else is for
    git. A path is relative to the current folder. A remote of the VCS has paths relative to the repository, and is for
    git whatever its path holds, unless that is a repository with a store of its own."""
    if _URL.match(url):
        return Remote(name, url, _storage(url), of_vcs)
    path = ((repository.home if of_vcs else repository.cwd) / Path(url).expanduser()).resolve()
    has_store = (path / DIRECTORY / "objects").is_dir()
    return Remote(name, str(path), GIT if not has_store and (of_vcs or _is_git(path)) else LOCAL, of_vcs)


def _is_git(path: Path) -> bool:
    """Whether a folder is a git repository, bare or not."""
    bare = (path / "HEAD").is_file() and (path / "objects").is_dir() and (path / "refs").is_dir()
    return bare or (path / ".git").exists()


def of_vcs(repository: Repository) -> Mapping[str, str]:
    """The URLs of the remotes of the repository itself, by name; none where its VCS has none."""
    found: Mapping[str, str] = repository.vcs.remotes() if hasattr(repository.vcs, "remotes") else {}
    return {name: url for name, url in found.items() if _NAME.fullmatch(name)}


def opened(repository: Repository, remote: Remote, *, recall: float = 0.0) -> Store:
    """The store at a remote. Of an object store a list of all keys that is younger than `recall` seconds is completed
    from its journal; without it all keys are listed. StorageError for a folder that is the repository's own."""
    if remote.storage == LOCAL:
        path = Path(remote.url)
        place = _folder(path)
        if place.resolve() == repository.perf.resolve():
            raise StorageError(f"{remote.name} is this repository itself")
        if not place.is_dir() and place != path:
            raise StorageError(f"there is no folder {printable(remote.url)}")
        _, driver = repository.plugins.make(STORAGE, LOCAL, {}, place=place)
        return _store(repository, driver)
    options: dict[str, object] = {"url": remote.url}
    if remote.storage == GIT:
        # A transfer lists first, and then works on what was listed: it takes one look at the repository, not thousands.
        options["hold"] = _HOLD
        options["programs"] = not remote.of_vcs
        if (config := _git_config(repository)) is not None:
            options["config"] = str(config)
    if remote.storage == OBJECT:
        _check_no_secret(remote)
        options["recall"] = recall
    place = repository.perf / "cache" / "remotes" / f"{_digest(remote.url)}.{remote.storage}"
    try:
        _, driver = repository.plugins.make(STORAGE, remote.storage, options, place=place)
    except PluginError as error:
        if remote.storage not in repository.plugins.names("storage"):
            kind = "a git repository" if remote.storage == GIT else "an object store"
            raise PluginError(
                f"{remote.shown} is {kind}, which takes a storage called {remote.storage}, and none is installed",
                hint=f"pip install {_PACKAGES[remote.storage]}, or use a folder: perf remote add NAME PATH",
            ) from error
        raise
    return _store(repository, driver)


def _store(repository: Repository, driver: Storage) -> Store:
    store = Store(driver)
    store.is_version = repository.is_version  # the versions of a remote are those of the repository
    return store


def check_not_lost(repository: Repository, remote: Remote) -> None:
    """StorageError for a path that had a store after the last transfer and has none now: a share that is not mounted,
    in whose place a new store would hide the loss."""
    if remote.storage != LOCAL or repository.store.read_model.get(_SPACE, _digest(remote.url)) is None:
        return
    if not _has_store(remote):  # asked last: a first push beside this one may have just made it
        raise StorageError(
            f"there is no store at {printable(remote.url)} any more",
            hint="mount it or bring it back; `perf push --full` makes a new one there",
        )


def check_place(repository: Repository, remote: Remote) -> None:
    """StorageError for a path where no folder is, from which nothing can come. An empty one may get its store later."""
    check_not_lost(repository, remote)
    if remote.storage == LOCAL and not Path(remote.url).is_dir():
        raise StorageError(
            f"there is no store at {printable(remote.url)} yet",
            hint=f"`perf push {remote.name}` makes one",
        )


def is_empty(remote: Remote) -> bool:
    """Whether a path holds nothing at all."""
    return remote.storage == LOCAL and not any(Path(remote.url).iterdir())


def remember_store(repository: Repository, remote: Remote) -> None:
    """Remember that there is a store at a remote, for `check_not_lost`."""
    model, key = repository.store.read_model, _digest(remote.url)
    if not _URL.match(remote.url) and _has_store(remote) and model.get(_SPACE, key) is None:
        model.put(_SPACE, {key: b""})


def _has_store(remote: Remote) -> bool:
    """Whether a path holds anything that a transfer left."""
    place = _folder(Path(remote.url))
    return remote.storage == GIT or any((place / name).is_dir() for name in ("objects", "packs"))


def _folder(path: Path) -> Path:
    """The folder with the store of a remote: that of the repository at the path, or else the path itself."""
    return path / DIRECTORY if (path / DIRECTORY / "objects").is_dir() else path


def transfers_name(remote: Remote, direction: str) -> str:
    """The name of the transfers to or from a remote in the read model."""
    return f"{_digest(remote.url)}.{direction}"


def add(repository: Repository, name: str, url: str) -> Remote:
    """Keep a remote. UsageError for a name that there is already, or that cannot be one."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"{brief(name)} is no name of a remote: letters, digits, '.', '_' and '-', 100 at most")
    if not url or url.startswith("-") or any(not character.isprintable() for character in url):
        raise UsageError(f"{brief(_masked(url))} is no URL")
    if mistyped := _BUCKET_WITHOUT_SLASHES.match(url):  # git would ask a machine of this name over ssh
        raise UsageError(f"{brief(url)} is no URL of a bucket", hint=f"{mistyped[1].lower()}://BUCKET/FOLDER")
    urls = dict(configured(repository))
    if name in urls:
        raise UsageError(f"there is a remote {name} already", hint=f"perf remote remove {name}")
    added = remote(repository, name, url)
    _check_no_secret(added)
    _write(repository, {**urls, name: added.url})
    return added


def remove(repository: Repository, name: str) -> None:
    """Forget a remote; nothing changes there."""
    urls = dict(configured(repository))
    if name not in urls:
        if name in of_vcs(repository):
            vcs = repository.vcs_name
            hint = f"git remote remove {name}" if vcs == "git" else None
            raise NotFoundError(f"{name} is a remote of {vcs}, and none of `perf remote add`", hint=hint)
        raise NotFoundError(f"there is no remote {brief(name)}", hint=nearest(name, urls))
    del urls[name]
    _write(repository, urls)


def _check_no_secret(remote: Remote) -> None:
    """UsageError for the URL of a bucket with a key in it: it would be kept in clear, and opens nothing."""
    if remote.storage == OBJECT and _masked(remote.url) != remote.url:
        raise UsageError(
            f"{remote.shown} has a key in it, which the URL of a bucket cannot have",
            hint="keys of buckets are read from the environment, as the provider's tools do",
        )


def _write(repository: Repository, urls: Mapping[str, str]) -> None:
    path = repository.perf / LOCAL_FILE
    before, after = layers.set_value(path, KEY, dict(urls) or None)
    keep_trusted(repository.trust, path, before, after)  # an untrusted one would be in the way of every transfer


def _git_config(repository: Repository) -> Path | None:
    """The file with what git needs to reach the remotes of the repository, such as credentials."""
    path = repository.home / ".git" / "config"
    return path if repository.vcs_name == "git" and path.is_file() else None


def _digest(url: str) -> str:
    return hashlib.sha1(url.encode(errors="surrogateescape"), usedforsecurity=False).hexdigest()[:20]
