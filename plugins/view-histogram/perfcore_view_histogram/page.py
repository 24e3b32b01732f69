"""The page: for each metric a sentence, the pictures, and a table of the groups."""

from __future__ import annotations

import html
from collections.abc import Sequence

from perfcore_view_kit import chart
from perfcore_view_kit.form import framed, quantity
from perfcore_view_kit.page import page
from perfcore_view_kit.runs import ENOUGH, median_interval, range_coverage
from perfcore_view_kit.table import table

from perfcore.text import plural
from perfcore_view_histogram.groups import Group, Panel
from perfcore_view_histogram.pictures import picture

_WIDTH = 860
HEAD = (
    "Runs of",
    "Count",
    "Least",
    "Lower quartile",
    "Median",
    "Its interval",
    "Upper quartile",
    "Greatest",
)


def write(panels: Sequence[Panel], *, title: str, summary: str) -> str:
    several = len(panels) > 1
    figures = "".join(_figure(panel, number, several=several) for number, panel in enumerate(panels, 1))
    return page(title, framed(title, summary, figures), chart.scripts()[:2], styles=chart.styles())


def _figure(panel: Panel, number: int, *, several: bool) -> str:
    name = html.escape(panel.title)
    rows = [row(group, panel.unit) for group in panel.groups]
    sentence = f"<p>{html.escape(panel.finding)}</p>" if several else ""
    drawn = picture(panel, width=_WIDTH)
    return (
        f'<figure aria-labelledby="runs-{number}"><figcaption><h2 id="runs-{number}">{name}</h2>'
        f"{sentence}</figcaption>"
        f'<div class="still" tabindex="0" role="group" aria-label="Picture of {name}">{drawn}</div>'
        f"{table(f'Runs of {panel.title}', HEAD, rows)}</figure>\n"
    )


def row(group: Group, unit: str) -> tuple[str, ...]:
    """Name, number of runs, least, quartiles with the interval of the median, greatest."""
    return (
        group.name,
        f"{len(group.values):,}",
        quantity(group.values[0], unit),
        quantity(group.quantile(0.25), unit),
        quantity(group.median, unit),
        interval_text(group, unit),
        quantity(group.quantile(0.75), unit),
        quantity(group.values[-1], unit),
    )


def interval_text(group: Group, unit: str) -> str:
    """The interval with its coverage; "-" for one run."""
    interval = median_interval(group.values)
    if interval is None:
        return "-"
    count = len(group.values)
    coverage = "95 %" if count >= ENOUGH else f"{100 * range_coverage(count):.3g} %"
    return f"{quantity(interval[0], unit)} to {quantity(interval[1], unit)} at {coverage}"


def summary(panels: Sequence[Panel]) -> str:
    """What is to be seen, in a sentence."""
    if len(panels) == 1:
        return panels[0].finding
    return f"The runs of {plural(len(panels), 'benchmark')}, beside each other."
