"""A new plugin as a complete distribution, written from templates.

The templates are a plugin called `acme`: `acme` and `Acme` in them give way to the name of the new one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path

from perfcore import __version__
from perfcore.errors import StorageError, UsageError
from perfcore.hookspecs import HOOKS_GROUP, KINDS
from perfcore.plugins.installed import HOOK
from perfcore.text import printable
from perfcore_testing.kit.names import Named

_ACME = re.compile(r"_?acme|Acme|ACME")
_FIELD = re.compile(r"\{([A-Z_]+)\}")
_OBSERVERS = ("around_collect", "environment", "registered")
_OBSERVED: Mapping[str, str] = {
    "around_collect": "collector.collect",
    "environment": "environment",
    "registered": "profile_registered",
}
# The ranges of perfcore itself, for what a template imports.
_NEEDED = {
    "attrs": "attrs>=23.2",
    "perfcore_command_kit": "perfcore-command-kit>=0.1,<0.2",
    "perfcore_storage_kit": "perfcore-storage-kit>=0.1,<0.2",
    "typer": "typer>=0.26,<0.29",
}


def files(plugin: Named) -> Mapping[str, str]:
    """The text of every file of a new plugin, by its path."""
    module = "observers" if plugin.kind == HOOK else plugin.kind
    driver = _template(plugin, "driver.py")
    exported = _OBSERVERS if plugin.kind == HOOK else (f"{plugin.capitalized}{_class(plugin)}",)
    description, _, usage = _template(plugin, "about").partition("\n\n")
    fields = {
        "DISTRIBUTION": plugin.distribution,
        "PACKAGE": plugin.package,
        "KIND": plugin.kind,
        "MODULE": module,
        "NOUN": "observers" if plugin.kind == HOOK else f"the {plugin.kind} `{plugin.name}`",
        "DESCRIPTION": description,
        "USAGE": usage.strip(),
        "SPECIFIED": first(plugin),
        "DEPENDENCIES": "\n".join(f'  "{need}",' for need in _dependencies(driver)),
        "ENTRY_POINTS": "\n".join(_entry_points(plugin)),
    }
    contents = {
        "pyproject.toml": _filled("pyproject.toml", plugin, {**fields, "NOUN": fields["NOUN"].replace("`", "")}),
        "README.md": _filled("README.md", plugin, fields),
        f"{plugin.package}/__init__.py": _package(plugin, module, description, exported),
        f"{plugin.package}/{module}.py": f'"""{description}."""\n\n{driver}',
        f"{plugin.package}/py.typed": "",
        "tests/test_contract.py": f'"""It keeps the laws of its kind."""\n\n{_template(plugin, "test_contract.py")}',
    }
    for name in ("contract.py", "__main__.py"):
        if _has(plugin, name):
            contents[f"{plugin.package}/{name}"] = _template(plugin, name)
    return contents


def first(plugin: Named) -> str:
    """How `perf plugins check` and `show` call it, or its first observer."""
    return f"{HOOK}:collector.collect:{plugin.name}" if plugin.kind == HOOK else f"{plugin.kind}:{plugin.name}"


def write(folder: Path, made: Mapping[str, str]) -> None:
    """Write the files into a new folder. UsageError where there is something already, which stays as it is."""
    try:
        folder.mkdir(parents=True)
        for name, text in made.items():
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
    except FileExistsError as error:
        raise UsageError(
            f"{printable(str(error.filename))} is there already", hint="--dir names another folder"
        ) from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise StorageError(f"cannot write {printable(str(folder))}: {reason}") from error


def _package(plugin: Named, module: str, description: str, exported: tuple[str, ...]) -> str:
    listed = ", ".join(f'"{name}"' for name in exported)
    return (
        f'"""{description}."""\n\nfrom {plugin.package}.{module} import {", ".join(exported)}\n\n__all__ = [{listed}]\n'
    )


def _entry_points(plugin: Named) -> Iterator[str]:
    if plugin.kind == HOOK:
        yield f'[project.entry-points."{HOOKS_GROUP}"]'
        for function, target in _OBSERVED.items():
            yield f'"{target}:{plugin.name}" = "{plugin.package}:{function}"'
    else:
        yield f'[project.entry-points."{KINDS[plugin.kind].group}"]'
        yield f'{plugin.name} = "{plugin.package}:{plugin.capitalized}{_class(plugin)}"'


def _dependencies(driver: str) -> Iterator[str]:
    major, minor = (int(component) for component in __version__.split(".")[:2])
    yield f"perfcore-core>={major}.{minor},<{major}.{minor + 1}"
    for name, needed in _NEEDED.items():
        if re.search(rf"^(?:import|from) {name}\b", driver, re.MULTILINE):
            yield needed


def _class(plugin: Named) -> str:
    return plugin.kind.capitalize()


def _filled(name: str, plugin: Named, fields: Mapping[str, str]) -> str:
    return _FIELD.sub(lambda found: fields[found[1]], _read(name, plugin))


def _template(plugin: Named, name: str) -> str:
    return _read(f"{plugin.kind}/{name}", plugin)


def _read(path: str, plugin: Named) -> str:
    text = resources.files(__package__).joinpath("templates", *f"{path}.txt".split("/")).read_text(encoding="utf-8")
    return _ACME.sub(lambda found: _renamed(found[0], plugin), text)


def _renamed(text: str, plugin: Named) -> str:
    """What stands in the place of one of these words: part of an identifier, or the name that users type."""
    words = {
        "Acme": plugin.capitalized,
        "ACME": plugin.identifier.upper(),
        "_acme": f"_{plugin.identifier}",
        "acme": plugin.name,
    }
    return words[text]


def _has(plugin: Named, name: str) -> bool:
    return resources.files(__package__).joinpath("templates", plugin.kind, f"{name}.txt").is_file()
