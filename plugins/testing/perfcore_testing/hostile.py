"""Names as they occur in the wild, and what of them must never reach a terminal, a page or a message."""

from __future__ import annotations

import unicodedata

NAMES: tuple[str, ...] = (
    "<script>alert('x')</script>",
    "</title><img src=x onerror=alert(1)>",
    "\x1b[31mred\x1b[0m\x1b]0;title\x07",
    "\x9b2Jc1\x85",
    "two\nlines\r\nover\rwritten",
    "tab\tnull\x00bell\x07delete\x7f",
    "\u202egnp.exe\u2066\u2069\u200f",
    "line\u2028separator\u2029\ufeff",
    "operator<<; std::vector<int>::push_back(int&&)",
    "\"quoted\", 'single', `ticks`, 100%",
    "pipe | back\\slash & ampersand ]]> --> {{x}} ${y} %s",
    "=1+1",
    "@SUM(A1)",
    "-flag",
    "naïve 日本語 🚀 e\u0301",
    "__init__ *bold* [link](javascript:alert)",
    " ",
    "",
    "long" * 1250,
)
"""Each is a legal name of a function, a file or a metric. All can be encoded as UTF-8."""

TAGS: tuple[str, ...] = ("<script>alert", "</title><img", "<img src=x")
"""Their markup, as it would stand in a page. A page has a `</title>` and images of its own."""


def unsafe(text: str) -> set[str]:
    """The characters of a text that move a cursor, ring, change colours or turn the direction of writing.
    Newlines and tabs are not among them."""
    return {c for c in text if c not in "\n\t" and _is_unsafe(c)}


def _is_unsafe(c: str) -> bool:
    return unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")
