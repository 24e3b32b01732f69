"""Making a repository: a `.perf` beside the version control system."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from perfcore import files
from perfcore.config.layers import KEYS, LOCAL_FILE, Config, read_layer, set_value
from perfcore.config.trust import Trust
from perfcore.errors import NotFoundError, PerfError, PluginError, StorageError, UsageError
from perfcore.hookspecs import VCS
from perfcore.plugins.drivers import guard
from perfcore.plugins.registry import Plugins
from perfcore.repository.location import DIRECTORY, LAYOUT, UserPlaces, detected_root, home_of, load_config

EMPTY: Mapping[str, Any] = {}
_UNFINISHED = f"{DIRECTORY}-unfinished-"
_FOLDERS = ("jobs", "logs", "objects", "cache", "tmp")


def create(
    directory: Path,
    vcs: str | None,
    init_vcs: bool,
    options: Mapping[str, Any],
    plugins: Plugins,
    places: UserPlaces,
    storage: str | None = None,
    storage_options: Mapping[str, Any] = EMPTY,
) -> None:
    """Make a `.perf` beside the VCS that is found, or that `init_vcs` makes. PerfError where there is one."""
    if not directory.is_dir():
        raise NotFoundError(f"{directory} is not a folder")
    name, root = _choose_vcs(directory, vcs, init_vcs, options, plugins)
    perf = home_of(plugins, name, root) / DIRECTORY
    found, driver = plugins.make(VCS, name, options if name == vcs else {}, place=root)
    list(driver.walk_major_versions())  # what the VCS refuses to read, as that of another user, gets no `.perf`
    chosen = _storage(plugins, load_config(root, places), storage, storage_options)
    _make_folder(perf, {"vcs.name": name, **chosen})
    if storage or storage_options or chosen.get("storage.name") != KEYS["storage.name"].default:
        # The user chose in this very command what the file makes run.
        Trust(places.trust).add(read_layer("local", perf / LOCAL_FILE).digest)
    if hasattr(driver, "ignore"):
        with guard(found, "ignore"):
            driver.ignore(perf)


def _choose_vcs(
    directory: Path, vcs: str | None, init_vcs: bool, options: Mapping[str, Any], plugins: Plugins
) -> tuple[str, Path]:
    names = [vcs] if vcs else list(plugins.names("vcs"))
    if not names:
        raise PluginError("no plugin for a version control system is installed", hint="pip install perfcore-vcs-git")
    roots = {}
    for name in names:
        try:
            root = detected_root(plugins, name, directory)
        except PluginError:  # a broken plugin of another VCS is no obstacle
            if vcs:
                raise
            continue
        if root is not None:
            roots[name] = root
    if len(roots) > 1:
        raise UsageError(f"this is a repository of {' and of '.join(roots)}", hint="choose one with --vcs")
    if roots:
        return next(iter(roots.items()))
    if not init_vcs:
        listed = " or ".join(names)
        raise NotFoundError(f"{directory} is not in a {listed} repository", hint="make one with `perf init --init-vcs`")
    name = vcs or ("git" if "git" in names else names[0])
    _, driver = plugins.make(VCS, name, options, place=directory)
    driver.init()
    return name, directory


def _storage(plugins: Plugins, config: Config, name: str | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of the storage: its name, in full where a distribution has it, and the options of the user. Empty if the
    versioned file of the project chooses it. PluginError where it is not installed or does not take the options."""
    origin = config.origin("storage.name")
    if name is None and origin is not None and origin.name == "project":
        return {}
    name = name or str(config.get("storage.name"))
    user = Config(tuple(layer for layer in config.layers if layer.name == "user"))
    short = name.rpartition(":")[2]
    options = {**user.plugin_options("storage", short), **options}
    if name != KEYS["storage.name"].default or options:
        plugins.settings("storage", name, options)
        info = plugins.find("storage", name)
        name = name if plugins.is_local(info) else info.full_name
    return {"storage.name": name, **{f"storage.{short}.{key}": value for key, value in options.items()}}


def _make_folder(perf: Path, settings: Mapping[str, Any]) -> None:
    """Make `.perf`, whole or not at all."""
    _refuse_existing(perf)
    try:
        temporary = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=perf.parent))
        for folder in _FOLDERS:
            (temporary / folder).mkdir()
        (temporary / ".gitignore").write_text("*\n")  # git overlooks the folder, whatever the user's own file says
        set_value(temporary / LOCAL_FILE, "format", LAYOUT)
        for key, value in settings.items():
            set_value(temporary / LOCAL_FILE, key, value)
        (temporary / f"{LOCAL_FILE}.lock").unlink(missing_ok=True)  # of set_value: nobody else knows this folder
        temporary.chmod(files.default_mode(0o777))  # mkdtemp makes folders for their owner alone
        temporary.rename(perf)  # last, so that a killed init leaves nothing that looks made
    except OSError as error:
        with contextlib.suppress(UnboundLocalError):
            shutil.rmtree(temporary, ignore_errors=True)
        _refuse_existing(perf)
        if perf.exists():
            raise PerfError(f"{perf} is there already and is no perfcore repository: move it away") from error
        raise StorageError(f"cannot make {perf}: {error.strerror}") from error
    for stale in perf.parent.glob(f"{_UNFINISHED}*"):  # by a killed init; another one at work fails anyway now
        shutil.rmtree(stale, ignore_errors=True)


def _refuse_existing(perf: Path) -> None:
    if (perf / LOCAL_FILE).exists():
        raise PerfError(f"{perf} is there already", hint="`perf status` shows what it holds")
