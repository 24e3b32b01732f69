"""In which form a view writes: a page, a picture, or text for a terminal; and the frame that all pages have."""

from __future__ import annotations

import html
import re
import sys
from typing import TYPE_CHECKING

from perfcore import text as texts
from perfcore.text import clip, encodable

if TYPE_CHECKING:
    from perfcore.hookspecs import Output

FORMS = ("auto", "text", "html", "svg")
FORM_HELP = "auto: html and svg for a file with such a name, else text."
_BY_SUFFIX = {".html": "html", ".htm": "html", ".svg": "svg"}
MINUS = "\N{MINUS SIGN}"
_NEGATIVE = re.compile(r"(?<![\w.-])-(?=[0-9.]+ ?%)")
# Elsewhere a joiner shows nothing, and would make two names look the same.
_JOINABLE = "[\u0600-\u06ff\u0900-\u0dff\u2190-\u2bff\ufe0f\U0001f000-\U0001faff]"
_JOINED = re.compile(f"(?<={_JOINABLE})([\u200c\u200d])(?={_JOINABLE})")
_LONGEST = 160  # characters of a name


def form_of(wanted: str, output: Output) -> str:
    """`text`, `html` or `svg`: what the user chose, or for `auto` what the name of the file says."""
    if wanted != "auto":
        return wanted
    return _BY_SUFFIX.get(output.path.suffix.lower(), "text") if output.path is not None else "text"


def has_blocks(output: Output) -> bool:
    """Whether the characters of drawings can be written: to a file, or to standard output that holds them."""
    return output.path is not None or (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"


def printable(text: str) -> str:
    """`perfcore.text.printable`, but what joins letters of Arabic and Indic scripts or the parts of an emoji stays: a
    page draws them as one, which not every terminal does."""
    if text.isprintable():
        return text
    return "".join(part if at % 2 else texts.printable(part) for at, part in enumerate(_JOINED.split(text)))


def shown(text: str, most: int = _LONGEST) -> str:
    """A foreign text as it may be shown: on one line, without control characters, cut where it is long."""
    if len(text) <= most and text.isascii() and text.isprintable():  # as nearly always
        return text
    return clip(encodable(printable(text)), most)


def percent(ratio: float) -> str:
    """`+4.2 %` for the ratio 1.042, `−4.2 %` for 0.958: pages write a minus sign, terminals a hyphen."""
    return texts.percent(ratio).replace("-", MINUS)


def quantity(value: float | None, unit: str = "", digits: int = 3) -> str:
    """An amount as `perfcore.text.quantity` writes it, with a minus sign if it is negative."""
    text = texts.quantity(value, unit, digits)
    return text if value is None or value >= 0 else text.replace("-", MINUS, 1)


def signed(amount: float, unit: str) -> str:
    """`+12.3 ms` or `−12.3 ms`, for the difference of two amounts."""
    return ("+" if amount > 0 else MINUS if amount < 0 else "") + texts.quantity(abs(amount), unit)


def with_minus(text: str) -> str:
    """A sentence of a check, which is for terminals, too, as pages write its percentages."""
    return _NEGATIVE.sub(MINUS, text)


def framed(title: str, summary: str, main: str) -> str:
    """The body of a page: its title, the one sentence that answers the question of the page, and the rest, which is
    markup."""
    return (
        f'<header><div class="titles"><h1>{html.escape(title)}</h1><p>{html.escape(summary)}</p></div>'
        '<div class="controls"><button type="button" id="theme" aria-pressed="false">Dark</button></div></header>\n'
        f"<main>{main}</main>"
    )
