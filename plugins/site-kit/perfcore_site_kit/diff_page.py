"""What in the code: functions by the change of their own time, and the flame graph of the difference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from perfcore_view_kit.form import percent, quantity, shown, signed
from perfcore_view_kit.table import Cell, table

from perfcore.errors import NotFoundError, PerfError
from perfcore_site_kit import code, paths, sentences
from perfcore_site_kit.annotated import sources_path
from perfcore_site_kit.branch import version_path
from perfcore_site_kit.code import CodeDifference
from perfcore_site_kit.paths import PagePath
from perfcore_site_kit.sources_page import line_address
from perfcore_site_kit.version_page import versions_of

if TYPE_CHECKING:
    from perfcore_command_diff.engine import DiffRow

    from perfcore_site_kit.renderer import View

_FUNCTIONS = 100


def diff_page(view: View) -> Mapping[str, Any]:
    compared = difference(view)
    rows = compared.result.table
    picture = Markup(code.flame_picture(view.site.repository, compared))
    return {
        "heading": f"{compared.label}: {compared.baseline.id[:10]} → {compared.target.id[:10]}",
        "answer": sentences.code(compared),
        "table": Markup(_functions(rows.rows[:_FUNCTIONS], rows.unit, _lines(view, compared))) if rows.rows else None,
        "rest": max(0, len(rows.rows) - _FUNCTIONS),
        "picture": picture,
        "flame": view.link(PagePath(paths.FLAME, view.path.parts)),
        "versions": [(version, view.link(version_path(version))) for version in (compared.baseline, compared.target)],
        "sides": [str(side) for side in compared.result.sides],
        "command": f"perf diff {compared.baseline.id[:10]} {compared.target.id[:10]}",
    }


def flame_page(view: View) -> str:
    """The interactive page, which has a script and a policy of its own."""
    return code.flame_graph(view.site.repository, difference(view))


def difference(view: View) -> CodeDifference:
    if len(view.path.parts) != 2:
        raise NotFoundError("there is no such page")
    baseline, target = versions_of(view, view.path.parts[0])
    try:
        return code.difference(view.site.repository, baseline, target, view.path.parts[1])
    except NotFoundError:
        raise
    except PerfError as error:
        raise NotFoundError(f"the two profiles cannot be compared: {error.message}") from error


def _lines(view: View, compared: CodeDifference) -> Mapping[tuple[str, str], str]:
    """The addresses of functions, by name and file, in the annotated sources of the later version, or of the earlier
    one for those that only it has."""
    sources, config = view.site.sources, compared.config_id
    lines: dict[tuple[str, str], str] = {}
    for version in (compared.baseline, compared.target):
        if not view.link(sources_path(version, config)):
            continue
        try:
            addresses = sources.addresses(version, sources.entry(version, paths.part(config)))
        except NotFoundError:
            continue
        lines |= {key: line_address(view, version, config, address) for key, address in addresses.items()}
    return lines


def _functions(rows: tuple[DiffRow, ...], unit: str, lines: Mapping[tuple[str, str], str]) -> str:
    head = ("Function", "Own change", "Change with callees", "Before", "After", "File")
    cells = [_cells(row, unit, lines.get((row.name, row.file), "")) for row in rows]
    return table("Functions by the change of their own time", head, cells, left=(5,), sortable=True)


def _cells(row: DiffRow, unit: str, link: str) -> list[str | Cell]:
    ratio = f" ({percent(row.target / row.baseline)})" if row.baseline > 0 and row.target > 0 else ""
    return [
        Cell(shown(row.name, 100), link=link),
        Cell(signed(row.own or 0.0, shown(unit, 16)), row.own),
        Cell(f"{signed(row.change, shown(unit, 16))}{ratio}", row.change),
        Cell(quantity(row.baseline, shown(unit, 16)), row.baseline),
        Cell(quantity(row.target, shown(unit, 16)), row.target),
        shown(row.file, 80),
    ]
