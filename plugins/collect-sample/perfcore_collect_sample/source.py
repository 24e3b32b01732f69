"""Where code stands: file names that are the same in every tree, and the first lines of Python functions."""

from __future__ import annotations

import ast
import functools
import warnings
from pathlib import Path

from perfcore.profile.stacks import Frame

_LIBRARIES = ("/site-packages/", "/dist-packages/")
_LARGEST = 4 << 20  # bytes: the syntax tree of a source takes many times its size in memory
_COMPREHENSIONS = {
    ast.ListComp: "<listcomp>",
    ast.SetComp: "<setcomp>",
    ast.DictComp: "<dictcomp>",
    ast.GeneratorExp: "<genexpr>",
    ast.Lambda: "<lambda>",
}
Spans = dict[str, list[tuple[int, int]]]


class Places:
    """Names of files as seen from the folder of the tree that is measured, so that versions can be compared."""

    def __init__(self, folder: Path) -> None:
        self._root = f"{folder.resolve()}/"
        self._unresolved = f"{folder.absolute()}/"
        self._spans = functools.cache(_spans)

    def file(self, path: str) -> str:
        """Relative to the tree; of libraries only what follows the folder that holds them all."""
        for root in (self._root, self._unresolved):
            if path.startswith(root):
                return path[len(root) :]
        for folder in _LIBRARIES:
            if folder in path:
                return path.rpartition(folder)[2]
        # The folder of the standard library has Python's version in its name, and another version is no other code.
        before, separator, after = path.rpartition("/lib/python3")
        return after.partition("/")[2] if separator and before else path

    def frame(self, name: str, file: str, line: int | None) -> Frame:
        """A frame of Python code, with the first line of its function where the source says it."""
        return Frame(name, self.file(file), line or None, self._first_line(name, file, line or None))

    def _first_line(self, name: str, file: str, line: int | None) -> int | None:
        if name == "<module>":
            return 1
        if line is None:
            return None
        around = [
            (start, stop) for start, stop in self._spans(file).get(name.rpartition(".")[2], ()) if start <= line <= stop
        ]
        # The innermost of nested functions of one name begins last.
        return max(around)[0] if around else None


def _spans(file: str) -> Spans:
    """(first line, last line) of everything in a file that can run as a function, by its name. Empty for an unreadable
    file."""
    try:
        path = Path(file)
        if not path.is_file() or path.stat().st_size > _LARGEST:
            return {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the program's code, not ours
            tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    spans: Spans = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            # A code object begins at its first decorator, which samplers tell; `lineno` of the tree is that of `def`.
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            spans.setdefault(node.name, []).append((first, node.end_lineno or first))
        elif type(node) in _COMPREHENSIONS:
            first = node.lineno  # type: ignore[attr-defined]
            spans.setdefault(_COMPREHENSIONS[type(node)], []).append((first, node.end_lineno or first))  # type: ignore[attr-defined]
    return spans
