"""Where a repository is: its `.perf`, the working tree around a folder, the user's own files, and the layers of the
configuration."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from perfcore.config.layers import LOCAL_FILE, PROJECT_FILE, Config, Layer, LayerName, read_layer
from perfcore.config.trust import Trust
from perfcore.errors import FormatError, NotFoundError, PluginError, StorageError
from perfcore.hookspecs import VCS
from perfcore.named_tuple import NamedTuple
from perfcore.plugins.drivers import guard
from perfcore.plugins.registry import Plugins

DIRECTORY = ".perf"
LAYOUT = 1  # of `.perf`


class UserPlaces(NamedTuple):
    """The user's own files: configuration, trusted contents, measured trees, and what is known of the plugins."""

    config: Path
    trust: Path
    trees: Path
    installed: Path | None = None

    @classmethod
    def default(cls, environ: Mapping[str, str] = {}) -> UserPlaces:
        """Where the system has such files. With the variables of a process on Linux they need not be looked for."""
        folders = _xdg_folders(environ)
        if folders is None:
            from platformdirs import user_cache_dir, user_config_dir, user_data_dir

            try:
                folders = [Path(folder("perfcore")) for folder in (user_config_dir, user_cache_dir, user_data_dir)]
            except RuntimeError as error:  # no variable names a home, and the system knows none of this user
                raise StorageError("there is no home folder of this user", hint="HOME names one") from error
        config, cache, data = folders
        return cls(config / "config.yml", data / "trusted", cache / "trees", cache / "installed")


def _xdg_folders(environ: Mapping[str, str]) -> list[Path] | None:
    """Those of configuration, caches and data by the XDG base directory specification (0.8), which platformdirs follows
    on Linux; None where it may do anything else. Its import takes as long as a short command."""
    defaults = {"XDG_CONFIG_HOME": "/.config", "XDG_CACHE_HOME": "/.cache", "XDG_DATA_HOME": "/.local/share"}
    home, named = environ.get("HOME", ""), [environ.get(variable, "") for variable in defaults]
    is_plain = home.startswith("/") and all(not name or name.startswith("/") for name in named)
    if sys.platform != "linux" or not is_plain or "ANDROID_DATA" in environ:
        return None
    below = [name or home.rstrip("/") + default for name, default in zip(named, defaults.values(), strict=True)]
    return [Path(folder, "perfcore") for folder in below]


class Location(NamedTuple):
    """A working tree (`root`), the folder that holds its `.perf` (`home`; the same for linked trees), and the
    configuration that holds there."""

    home: Path
    root: Path
    config: Config


def locate(start: Path, plugins: Plugins, places: UserPlaces, overrides: Mapping[str, Any] | None) -> Location:
    """The repository around `start`, its plugins registered. NotFoundError where no folder up from it has `.perf`."""
    home = _home_above(start) or _home_by_vcs(start, plugins)  # above linked trees there is none
    if home is None:
        raise NotFoundError(f"{start} is not inside a perfcore repository", hint=_without_file(start))
    local = read_layer("local", home / DIRECTORY / LOCAL_FILE)
    _refuse_newer(home / DIRECTORY, local)
    trust = Trust(places.trust)
    _register_local(plugins, Config((local,)), {"local": home}, trust)  # one of them may be the VCS
    root = _working_tree(home, start, _text_of(local, "vcs", "name"), plugins)
    config = load_config(root, places, local=local, overrides=overrides)
    plugins.disabled |= frozenset(config.get("plugins.disabled"))  # before anything of them is imported
    folders: dict[LayerName, Path] = {
        "user": places.config.parent,
        "project": root,
        "local": home,
        "command line": start,
    }
    _register_local(plugins, config, folders, trust)
    return Location(home, root, config)


def _register_local(plugins: Plugins, config: Config, folders: Mapping[LayerName, Path], trust: Trust) -> None:
    """Register the plugins in files that the configuration names."""
    if all("plugins" not in layer.values for layer in config.layers):  # most name none: their reader is not imported
        plugins.register_local((), trust)
        return
    from perfcore.plugins.local import named_in

    plugins.register_local(named_in(config, folders), trust)


def load_config(
    root: Path | None, places: UserPlaces, *, local: Layer | None = None, overrides: Mapping[str, Any] | None = None
) -> Config:
    """All layers for a working tree; outside of one only the user's."""
    layers = [read_layer("user", places.config)]
    if root is not None:
        layers.append(read_layer("project", root / PROJECT_FILE))
    if local is not None:
        layers.append(local)
    config = Config(tuple(layers))
    return config.with_layer("command line", overrides) if overrides else config


def detected_root(plugins: Plugins, name: str, place: Path) -> Path | None:
    """The root of the working tree that a VCS sees around a place."""
    info, driver = plugins.load("vcs", name)
    with guard(info, "detect"):
        return driver.detect(place)  # type: ignore[no-any-return]


def home_of(plugins: Plugins, name: str, root: Path) -> Path:
    """The directory where `.perf` belongs: the root where a driver links no trees."""
    info, driver = plugins.make(VCS, name, place=root)
    with guard(info, "home"):
        return driver.home() if hasattr(driver, "home") else root


def _without_file(start: Path) -> str:
    """What to do where there is no repository, or one that lost its file."""
    for folder in (start, *start.parents):
        if (folder / DIRECTORY / "objects").is_dir():
            file = folder / DIRECTORY / LOCAL_FILE
            if file.exists() or file.is_symlink():
                return f"{file} is no file: put one in its place, with `vcs: {{name: git}}` or what it was"
            return f"{file.parent} has lost its {LOCAL_FILE}: write `vcs: {{name: git}}` into it, or what it was"
    return "make one with `perf init`"


def _home_above(start: Path) -> Path | None:
    return next((folder for folder in (start, *start.parents) if (folder / DIRECTORY / LOCAL_FILE).is_file()), None)


def _home_by_vcs(start: Path, plugins: Plugins) -> Path | None:
    """Where a linked working tree keeps its `.perf`: with the tree it is linked to."""
    for name in plugins.names("vcs"):
        with contextlib.suppress(PluginError):
            if (root := detected_root(plugins, name, start)) is not None:
                home = home_of(plugins, name, root)
                if (home / DIRECTORY / LOCAL_FILE).is_file():
                    return home
    return None


def _working_tree(home: Path, start: Path, name: str | None, plugins: Plugins) -> Path:
    """The tree around `start` if it is linked to the one at `home`, else `home` itself. NotFoundError in a tree below
    `home` that has a history of its own: what is measured there is none of the outer versions."""
    root = None if name is None or start == home else detected_root(plugins, name, start)
    if name is None or root is None or root == home:
        return home
    if home_of(plugins, name, root) == home:
        return root
    if home in root.parents:
        raise NotFoundError(f"{root} is a repository of its own, without a `.perf`", hint="make one with `perf init`")
    return home


def _refuse_newer(perf: Path, local: Layer) -> None:
    layout = local.values.get("format", LAYOUT)
    if layout not in range(1, LAYOUT + 1):  # read as ours, it would be written into
        raise FormatError(
            f"{perf} has layout {layout}, and this perfcore knows {LAYOUT}",
            hint="a newer perfcore made it: use that one, or `pip install --upgrade perfcore`",
        )


def _text_of(layer: Layer, section: str, key: str) -> str | None:
    values = layer.values.get(section)
    value = values.get(key) if isinstance(values, Mapping) else None
    return value if isinstance(value, str) else None
