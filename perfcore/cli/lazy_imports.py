"""Modules that are imported when something of them is first used, as `lazy import` does it from Python 3.15 on.

What every command needs imports them for what few do: `pathlib` for addresses, msgspec for schemas. They are a tenth of
a short command.
"""

from __future__ import annotations

import _thread
import os
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

# Of each, the functions that whoever imports it takes at once, or what they answer.
_LAZY: dict[str, Mapping[str, Callable[[], object] | None]] = {
    **{name: {} for name in ("locale", "shutil", "textwrap", "msgspec.inspect", "msgspec.toml", "msgspec.yaml")},
    **{f"numpy._core._add_newdocs{part}": {} for part in ("", "_scalars")},  # docstrings, which nobody reads here
    "numpy._typing": {"NDArray": list},  # a third of the import of NumPy, for the annotations of two tuples
    "msgspec._json_schema": {"schema": None, "schema_components": None},
    "urllib.parse": {"quote_from_bytes": None},
    **({"platform": {"system": lambda: os.uname().sysname}} if hasattr(os, "uname") else {}),
}
_switching = _thread.allocate_lock()
_NUMPY_THREADS = "OPENBLAS_NUM_THREADS"


class LazyImports:
    """Finds these modules, and NumPy's compiled part, which it loads so that its library of linear algebra starts no
    threads: each waits busily for work at first, as long as all of NumPy takes to import.

    To msgspec it denies typing_extensions: what it takes from there `typing` has as well since Python 3.11."""

    @classmethod
    def find_spec(cls, name: str, path: Sequence[str] | None = None, _: object = None) -> ModuleSpec | None:
        if name in _LAZY:
            return ModuleSpec(name, cls())  # type: ignore[arg-type]  # two methods are enough
        taker = sys.modules.get("msgspec._utils")
        if name == "typing_extensions" and taker and not hasattr(taker, "get_type_hints"):
            raise ModuleNotFoundError(name)
        if name == "numpy._core._multiarray_umath" and _NUMPY_THREADS not in os.environ:
            return _without_threads(name, path)
        return None

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: Any) -> None:
        """Leave a module whose attributes are those of the real one, which takes its place once one is asked for."""
        name = module.__name__

        def get(attribute: str) -> Any:
            # Asked by the import of a name from it, since none is a package, and by those who look at all modules.
            if attribute in ("__path__", "__file__"):
                raise AttributeError(attribute)
            with _switching:
                if sys.modules.get(name) is module:
                    _LAZY.pop(name, None)
                    del sys.modules[name]
            real = import_module(name)
            vars(module).update(vars(real))
            return getattr(real, attribute)

        def forwarding(function: str) -> Callable[..., Any]:
            return lambda *args, **options: get(function)(*args, **options)

        module.__getattr__ = get
        for function, answer in _LAZY[name].items():
            setattr(module, function, answer or forwarding(function))


def _without_threads(name: str, path: Sequence[str] | None) -> ModuleSpec | None:
    loader: Any = (spec := PathFinder.find_spec(name, path)) and spec.loader
    create = getattr(loader, "create_module", None)
    if create is None:
        return spec

    def create_module(spec: ModuleSpec) -> object:
        os.environ[_NUMPY_THREADS] = "1"
        try:
            return create(spec)
        finally:
            del os.environ[_NUMPY_THREADS]  # what is measured shall not have it

    loader.create_module = create_module
    return spec
