"""Whose code a function is: the project's, a library's, or the machinery that imports modules."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

OWN, LIBRARY, IMPORTS = range(3)

# `importlib` of Python, frozen or from its file, as samplers name it.
_IMPORTS = re.compile(r"<frozen (importlib|zipimport)|(^|[/\\])importlib[/\\]|(^|[/\\])_bootstrap(_external)?\.py")
_LIBRARIES = re.compile(
    r"[/\\](site-packages|dist-packages|node_modules)[/\\]"  # Python, Node
    r"|(^|[/\\])lib(64)?[/\\]python\d"  # the standard library of Python
    r"|^/(usr/)?(local/)?lib(64)?[/\\]|\.(so|dylib|dll)\b|^lib\w[\w+.-]*\.so|^ld-linux"  # shared libraries
    r"|^/usr/include/|/rustc/|[/\\]\.cargo[/\\]registry[/\\]"  # C++, Rust
    r"|^/usr/(local/)?go/src/|[/\\]pkg[/\\]mod[/\\]"  # Go
    r"|^<(frozen|built-in)|^node:|^\[(kernel|vdso)",
    re.IGNORECASE,
)


def kinds(files: Sequence[str]) -> list[int]:
    """The kinds of functions in these files."""
    return list(map(_kind, files))


@functools.lru_cache(maxsize=4096)  # functions of one file follow each other seldom
def _kind(file: str) -> int:
    if _IMPORTS.search(file):
        return IMPORTS
    return LIBRARY if _LIBRARIES.search(file) else OWN
