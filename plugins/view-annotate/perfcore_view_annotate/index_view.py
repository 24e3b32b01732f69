"""The page of all files: top functions, files, the flame graph, and which sources are missing."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

import attrs
from perfcore_fleet_kit.dynamic_code import NAMED
from perfcore_view_kit.form import shown
from perfcore_view_kit.site import fingerprint
from perfcore_view_kit.table import Cell, table

from perfcore.text import plural, quantity
from perfcore_view_annotate.costs import Costs, FileCosts
from perfcore_view_annotate.file_view import name_of, title_of
from perfcore_view_annotate.flame import LEAST, Box, picture
from perfcore_view_annotate.shares import bar, share
from perfcore_view_annotate.shell import anchor, header, index_page, page_of, revision, up
from perfcore_view_annotate.sources import Origin

_TOP = 100  # functions
_WORDS: Mapping[Origin, str] = {
    "version": "version",
    "folder": "folder",
    "mapped": "folder, mapped",
    "uncompared": "folder, not compared",
    "generated": "generated",
    "missing": "missing",
}


@attrs.frozen
class IndexDetail:
    """How much the page shows: boxes from a share of the whole on, and so many files; None for all."""

    least: float = LEAST
    files: int | None = None


DETAIL = IndexDetail()


@attrs.frozen
class IndexView:
    """The texts of the page. `home` is (text, address) of a page above."""

    title: str
    summary: str
    notes: tuple[str, ...]
    flame: str
    functions: str
    files: str
    home: tuple[str, str] | None = None

    @property
    def fingerprint(self) -> str:
        """The hash of everything that the page shows."""
        return fingerprint(revision(), attrs.astuple(self))


def index_view(
    title: str,
    costs: Costs,
    origins: Mapping[str, Origin],
    version: str,
    placed: Sequence[Box],
    home: tuple[str, str] | None = None,
    detail: IndexDetail = DETAIL,
) -> IndexView:
    """The page of all files, of which `origins` says where their sources are from."""
    return IndexView(
        title=title,
        summary=_summary(costs, version),
        notes=tuple(_notes(costs, origins)),
        flame=_flame(costs, [box for box in placed if box.width >= detail.least]),
        functions=_functions(costs),
        files=_files(costs, origins, detail.files),
        home=home,
    )


def render(view: IndexView) -> str:
    """The whole page."""
    notes = "".join(f'<p class="note">{html.escape(note)}</p>' for note in view.notes)
    flame = f'<section aria-labelledby="graph"><h2 id="graph">Flame graph</h2>{view.flame}</section>'
    body = (
        f"{header(view.title, view.summary, above=up(view.home))}<main>{notes}{flame if view.flame else ''}"
        '<div class="tables">'
        f'<section aria-labelledby="functions"><h2 id="functions">Top functions</h2>{view.functions}</section>'
        f'<section aria-labelledby="files"><h2 id="files">Files</h2>{view.files}</section></div></main>'
    )
    return index_page(view.title, body)


def _summary(costs: Costs, version: str) -> str:
    amount = quantity(costs.total * costs.scale, costs.unit)
    of = f" of {version}" if version else ""
    counted = f"{plural(len(costs.files), 'file')}, {plural(len(costs.functions), 'function')}"
    top = max(costs.functions.items(), key=lambda item: (item[1].exclusive, item[0]), default=None)
    text = f"{costs.metric} {amount}{of}: {counted}."
    if top is not None:
        text += f" Most in its own code: {name_of(top[1])}, {share(top[1].exclusive, costs.total)} %."
    return text


def _notes(costs: Costs, origins: Mapping[str, Origin]) -> list[str]:
    missing = [file for file, origin in origins.items() if origin == "missing" and not file.startswith("xs:")]
    notes = []
    texts = [file for file in missing if file.startswith((NAMED, "qeval:"))]
    if texts:
        amount = share(sum(costs.files[file].exclusive for file in texts), costs.total) or "0"
        notes.append(
            f"{plural(len(texts), 'text')} of generated code with {amount} % in their own code are not at hand: "
            "`perf fleet show annotate` shows those that are stored."
        )
    missing = [file for file in missing if file not in set(texts)]
    if not missing:
        return notes
    own = share(sum(costs.files[file].exclusive for file in missing), costs.total) or "0"
    names = ", ".join(title_of(file) for file in sorted(missing, key=lambda f: (-costs.files[f].exclusive, f))[:5])
    more = f" and {len(missing) - 5:,} more" if len(missing) > 5 else ""
    return [
        *notes,
        f"The sources of {plural(len(missing), 'file')} with {own} % in their own code are missing: {names}{more}.",
    ]


def _flame(costs: Costs, placed: Sequence[Box]) -> str:
    ids = dict.fromkeys(box.function for box in placed)
    functions = {id: costs.functions[id] for id in ids}
    return picture(
        placed,
        {id: name_of(function) for id, function in functions.items()},
        {id: function.file for id, function in functions.items()},
        {id: f"{page_of(function.file)}#{anchor(id)}" for id, function in functions.items()},
    )


def _functions(costs: Costs) -> str:
    top = costs.ranked()
    rows = []
    for id in top[:_TOP]:
        function = costs.functions[id]
        where = shown(function.file) + (f":{function.first_line}" if function.first_line > 0 else "")
        rows.append(
            (
                Cell(name_of(function), link=f"{page_of(function.file)}#{anchor(id)}"),
                _amount(function.exclusive, costs.total),
                _amount(function.inclusive, costs.total),
                where,
            )
        )
    left = len(top) - _TOP
    note = ""
    if left > 0:
        note = f'<p class="soft">{plural(left, "function")} with less are on the pages of their files.</p>'
    head = ("Function", "Own %", "Total %", "Begins at")
    return table("Functions by what their own code took", head, rows, left=(3,), name="top", sortable=True) + note


def _files(costs: Costs, origins: Mapping[str, Origin], most: int | None) -> str:
    rows = []
    order = sorted(costs.files, key=lambda name: (-costs.files[name].exclusive, name))
    for name in order[:most]:
        file = costs.files[name]
        rows.append(
            (
                Cell(title_of(name), link=page_of(name)),
                _amount(file.exclusive, costs.total),
                _hottest(file, costs.total),
                Cell(f"{len(file.functions):,}", len(file.functions)),
                Cell(f"{len(file.lines):,}", len(file.lines)),
                "native" if name.startswith("xs:") else _WORDS[origins[name]],
            )
        )
    head = ("File", "Own %", "Hottest line %", "Functions", "Lines", "Source")
    left = len(order) - len(rows)
    note = f'<p class="soft">{plural(left, "file")} with less are left out, so that the page stays small.</p>'
    files = table("Files by what their own code took", head, rows, left=(5,), name="top", sortable=True)
    return files + (note if left else "")


def _hottest(file: FileCosts, total: int) -> Cell:
    return _amount(max((exclusive for _, exclusive in file.lines.values()), default=0), total)


def _amount(amount: int, total: int) -> Cell:
    picture = f'<i class="bar b{bar(amount, total)}"></i>' if amount else ""
    return Cell(share(amount, total), amount, picture)
