"""How things are written for people: hostile text made harmless, quantities with units, aligned columns."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

_SCALES: dict[str, tuple[tuple[float, str], ...]] = {
    "ns": ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns")),
    "s": ((1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
    "B": ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B")),  # IEC 80000-13
    "": ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, "")),
}
_LONG = 1e12  # where digits that nobody counts give way to an exponent
_PLAIN = 10_000  # counts below it are written out: 9,731 says more than 9.73 k
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")  # a spreadsheet runs such a cell (OWASP, CSV Injection)


def printable(text: str) -> str:
    """The text on one line; what moves a cursor, changes a colour or reverses the direction becomes an escape."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _escape(c) for c in text)


def inert(text: str) -> str:
    """The text of a cell of CSV, with a `'` in front where a spreadsheet would run it as a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def encodable(text: str) -> str:
    """The text as it can be stored: bytes that are no UTF-8 (in names of files, in arguments) as escapes."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()  # PEP 383


def printable_lines(text: str) -> str:
    """The same for text of several lines: newlines stay, tabs become blanks."""
    return "\n".join(printable(line.expandtabs()) for line in text.split("\n"))


def printable_json(text: str) -> str:
    """The same JSON with everything written as an escape that a terminal might take for more than text. JSON itself
    asks for that below U+0020 only, and U+009B, for one, begins a sequence as an escape does."""
    if text.isascii() and "\x7f" not in text:
        return text
    return "\n".join("".join(c if c.isprintable() else _json_escape(c) for c in line) for line in text.split("\n"))


def brief(value: object, columns: int = 80) -> str:
    """A value in an error message, cut where it is long."""
    return clip(printable(repr(value)), columns)


def quantity(value: float | None, unit: str = "", digits: int = 3) -> str:
    """`12.3 ms` for 12_345_678 in ns. Units without a scale of their own stay as they are, as do counts below
    ten thousand; `1`, the unit of proportions, is not written."""
    if value is None:
        return "-"
    unit = "" if unit == "1" else unit
    if unit == "" and abs(value) < _PLAIN:
        return _digits(value, digits)
    scales = _SCALES.get(unit)
    if scales is None:
        return f"{_digits(value, digits)} {printable(unit)}".rstrip()
    for factor, name in scales:
        if abs(value) >= factor:
            joint = "" if unit == "" else " "
            return f"{_digits(value if factor == 1 else value / factor, digits)}{joint}{name}".rstrip()
    return f"{_digits(value, digits)} {unit}".rstrip()


def percent(ratio: float) -> str:
    """`+4.2 %` for the ratio 1.042."""
    change = (ratio - 1) * 100
    return f"{change:+.1f} %" if abs(change) < 1000 else f"×{ratio:.3g}"  # +1,000 % is eleven times as much


def width(text: str) -> int:
    """Columns of a terminal that the text takes."""
    if text.isascii():
        return len(text)
    return sum(_char_width(c) for c in text)


def clip(text: str, columns: int) -> str:
    """The text cut to so many columns, with an ellipsis where something is missing."""
    if width(text) <= columns:
        return text
    clipped, used = [], 1  # the ellipsis
    for c in text:
        used += _char_width(c)
        if used > columns:
            break
        clipped.append(c)
    return "".join(clipped) + "…"


def align(rows: Sequence[Sequence[str]], right: Sequence[int] = (), gap: str = "  ") -> list[str]:
    """Lines of aligned columns; those of these numbers are set flush right. Make foreign text `printable` first."""
    if len(rows) < 2:  # nothing to align
        return [gap.join(row).rstrip() for row in rows]
    sizes = [list(map(width, row)) for row in rows]
    widths = [max((own[i] for own in sizes if i < len(own)), default=0) for i in range(max(map(len, rows)))]
    lines = []
    for row, own in zip(rows, sizes, strict=True):
        cells = []
        for i, cell in enumerate(row):
            fill = " " * (widths[i] - own[i])
            cells.append(fill + cell if i in right else cell + fill)
        lines.append(gap.join(cells).rstrip())
    return lines


def fitted(rows: Sequence[Sequence[str]], columns: int | None, cut: Sequence[int], least: int = 16) -> list[list[str]]:
    """Rows of a table that `align` makes no wider than so many columns, by cutting the cells of these numbers: the
    first of them as far as it takes, but to `least`, then the next. None is a line without an end."""
    trimmed = [list(row) for row in rows]
    for column in cut if columns is not None else ():
        over = max(map(width, align(trimmed)), default=0) - (columns or 0)
        room = max(least, max((width(row[column]) for row in trimmed), default=0) - over)
        for row in trimmed if over > 0 else ():
            if width(row[column]) > room:  # cut in the middle: names of a suite begin alike and differ at the end
                head = clip(row[column], room // 3)
                row[column] = head + clip(row[column][::-1], room - width(head) + 1)[::-1][1:]
    return trimmed


def plural(count: int, noun: str, many: str | None = None) -> str:
    """`1 profile`, `2 profiles`."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def _digits(value: float, digits: int) -> str:
    if (isinstance(value, int) or float(value).is_integer()) and abs(value) < 10 ** (digits + 3):
        return str(int(value))
    digits_text = f"{value:.{digits}g}"
    if "e" in digits_text and 1 <= abs(value) < _LONG:
        return f"{value:.0f}"
    return digits_text


def _json_escape(c: str) -> str:
    units = c.encode("utf-16-be", "surrogatepass")  # RFC 8259, section 7: a pair beyond U+FFFF
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def _escape(c: str) -> str:
    code = ord(c)
    if c in "\n\r\t":
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[c]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _char_width(c: str) -> int:
    if unicodedata.combining(c):
        return 0
    return 2 if unicodedata.east_asian_width(c) in "WF" else 1  # UAX 11: wide and fullwidth
