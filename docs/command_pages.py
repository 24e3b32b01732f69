"""Pages of the commands for the site and for `man`: the help of each, with the options of all installed plugins, as
Markdown. Typer's formatter of help is replaced by one that writes Markdown, so that both say the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import attrs
from generate import commands, help_of
from typer.core import TyperCommand

from perfcore.plugins import Plugins

# What Markdown reads as markup; code between backticks stays as it is.
_MARKUP = re.compile(r"(`[^`\n]+`)|([\\`*_{}\[\]<>#|$~])")
_CONTEXT: Any = TyperCommand.context_class  # of commands and groups alike
_NO_TEXT = "\N{NO-BREAK SPACE}"  # a definition wants a text


@attrs.frozen
class CommandPage:
    """A verb with what stands below it: `name` is `check`, or nothing for perf itself; `summary` its first sentence."""

    name: str
    summary: str
    text: str

    @property
    def title(self) -> str:
        return f"perf {self.name}".rstrip()


def command_pages(plugins: Plugins) -> Iterator[CommandPage]:
    """A page for perf and for each verb, in the order of `perf --help`."""
    verbs: dict[str, list[Sequence[str]]] = {}
    for words in commands(plugins):
        verbs.setdefault(words[0] if words else "", []).append(words)
    for name, below in verbs.items():
        texts = [_section(words) for words in below]
        yield CommandPage(name, _summary(texts[0]), "\n".join(texts))


def _section(words: Sequence[str]) -> str:
    level = min(len(words), 2) or 1
    Markdown.level = level + 1
    before, _CONTEXT.formatter_class = _CONTEXT.formatter_class, Markdown
    try:
        text = help_of(words)
    finally:
        _CONTEXT.formatter_class = before
    return f"{'#' * level} {' '.join(('perf', *words))}\n\n{text}"


def _summary(text: str) -> str:
    """The first sentence of the description, without markup."""
    description = text.partition("Description\n\n")[2].partition("\n\n")[0]
    return re.sub(r"\\(.)", r"\1", description.replace("\n", " ").partition(". ")[0].removesuffix("."))


class Markdown(_CONTEXT.formatter_class):  # type: ignore[misc]
    """The help of one command as Markdown, with headings from `level` on."""

    level = 2

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        self._head("Synopsis")
        self.write(f"```text\n{prog} {args}\n```\n\n")

    def write_heading(self, heading: str) -> None:
        self._head(heading)

    def write_paragraph(self) -> None: ...

    def write_text(self, text: str) -> None:
        if "## Description" not in self.getvalue() and "## Options" not in self.getvalue():
            self._head("Description")
        self.write("".join(f"{escaped(' '.join(part.split()))}\n\n" for part in text.split("\n\n")))

    def write_dl(self, rows: Any, col_max: int = 30, col_spacing: int = 2) -> None:
        for term, text in rows:
            self.write(f"`{term.strip()}`\n: {escaped(' '.join(text.split())) or _NO_TEXT}\n\n")

    def _head(self, heading: str) -> None:
        self.write(f"{'#' * self.level} {heading}\n\n")


def escaped(text: str) -> str:
    """A text as Markdown shows it."""
    return _MARKUP.sub(lambda match: match[1] or f"\\{match[2]}", text)
