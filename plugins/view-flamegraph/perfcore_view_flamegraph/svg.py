"""A still picture for documents: SVG without a script."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from perfcore_view_kit.form import MINUS, percent, quantity

from perfcore.text import clip
from perfcore_view_flamegraph import palette
from perfcore_view_flamegraph.palette import DARK, LIGHT

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from perfcore_view_flamegraph.calls import Number
    from perfcore_view_flamegraph.graph import Frame, Graph, Metric
    from perfcore_view_flamegraph.layout import Box
    from perfcore_view_flamegraph.palette import Palette

# Pixels. LETTER is the width of a character of 11 pixels in the widest of these fonts (0.602 em in DejaVu Sans Mono is
# 6.62): SVG cannot cut a text that is too long for its box.
ROW, EDGE, LETTER = 18, 10, 6.65
_HEAD, _LEGEND = 46, 24
_LEAST_NAME = 5  # characters beside a change
_FONT = "11px ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace"


def svg(
    graph: Graph, metric: Metric, boxes: Sequence[Box], *, title: str, about: str, width: int, flame: bool
) -> Iterator[str]:
    """The lines of the file. Every text must be one that can be shown as it is."""
    top = _HEAD + (_LEGEND if metric.sides else 0)
    levels = _levels(boxes)
    height = top + levels * ROW + EDGE
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{_attribute(title)}">'
    )
    yield f"<title>{_text(title)}</title>"
    yield f"<style>text{{font:{_FONT};fill:{LIGHT.text}}}.t{{font:600 15px system-ui,sans-serif}}</style>"
    yield f'<rect width="{width}" height="{height}" fill="#fff"/>'
    room = int((width - 2 * EDGE) / LETTER)
    yield f'<text class="t" x="{EDGE}" y="20">{_text(clip(title, int(room * 0.8)))}</text>'
    yield f'<text x="{EDGE}" y="37">{_text(clip(about, room))}</text>'
    if metric.sides:
        yield from _legend(top - _LEGEND)
    root_total = boxes[0].total
    for box in boxes:
        row = levels - 1 - box.depth if flame else box.depth
        frame = graph.frames[box.frame]
        fill = f'fill="{_fill(box, frame)}"'
        yield _drawn(box, frame, metric, root_total, top + row * ROW, width - 2 * EDGE, fill)
    yield "</svg>"


def embedded(
    graph: Graph, metric: Metric, boxes: Sequence[Box], *, title: str, width: int, quiet: Container[Frame]
) -> Iterator[str]:
    """The lines of a difference in a page that has `style()`: light or dark by the theme of the page. `quiet` frames
    have the colour of what is the same."""
    top = EDGE + _LEGEND
    height = top + _levels(boxes) * ROW + EDGE
    yield (
        f'<svg class="flame" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{_attribute(title)}"><title>{_text(title)}</title>'
    )
    yield from _legend(EDGE, 'class="change-{}"')
    for box in boxes:
        frame = graph.frames[box.frame]
        step = palette.STEPS if box.sides is None or frame in quiet else palette.step(*box.sides)
        y = top + box.depth * ROW
        yield _drawn(box, frame, metric, boxes[0].total, y, width - 2 * EDGE, f'class="change-{step}"')
    yield "</svg>"


def style() -> str:
    """What a page needs for `embedded` pictures."""
    return "".join(
        [
            f"svg.flame {{ display: block; }}\nsvg.flame text {{ font: {_FONT}; }}\n",
            *_themed("", LIGHT),
            *_themed(':root[data-theme="dark"] ', DARK),
            "@media print {\n  svg.flame { max-width: 100%; height: auto; }\n}\n",
            "@media (forced-colors: active) {\n  svg.flame rect { fill: Canvas; stroke: CanvasText; }\n}\n",
        ]
    )


def _themed(prefix: str, colors: Palette) -> Iterator[str]:
    yield f"{prefix}svg.flame g text {{ fill: {colors.text}; }}\n"
    for step, color in enumerate(colors.changes):
        yield f"{prefix}svg.flame .change-{step} {{ fill: {color}; }}\n"


def _levels(boxes: Sequence[Box]) -> int:
    return 1 + max(box.depth for box in boxes)


def share(amount: Number, whole: Number) -> str:
    """`12.3 %` of the whole."""
    return f"{100 * amount / whole:.3g} %"


def change(baseline: Number, target: Number) -> str:
    """What became of an amount, in a few signs."""
    if baseline == target:
        return "±0"
    return "new" if not baseline else "gone" if not target else percent(target / baseline)


def _sign(baseline: Number, target: Number) -> str:
    """The same for a label, where there is little room."""
    word = change(baseline, target)
    if not word.endswith("%"):
        return word
    percents = 100 * (target / baseline - 1)
    text = f"{percents:+.0f}%" if abs(percents) >= 1 else f"{percents:+.1g}%"
    return text if percents > 0 else f"{MINUS}{text[1:]}"


def _drawn(box: Box, frame: Frame, metric: Metric, whole: Number, y: float, width: float, fill: str) -> str:
    """A box one pixel narrower and lower than its place, with what there is room for of its name."""
    x, wide = EDGE + box.left * width, box.width * width
    visible_text = _label(box, frame, int((wide - 6) / LETTER)) if wide > 3 * LETTER else ""
    text = f'<text x="{x + 3:.2f}" y="{y + 12.5:g}">{_text(visible_text)}</text>' if visible_text else ""
    # The gap tells neighbours apart; of a box of three pixels it would take a third.
    gap = 1 if wide > 3 else 0
    return (
        f"<g><title>{_text(_told(box, frame, metric, whole))}</title>"
        f'<rect x="{x:.2f}" y="{y:g}" width="{wide - gap:.2f}" height="{ROW - 1}" {fill}/>{text}</g>'
    )


def _label(box: Box, frame: Frame, room: int) -> str:
    """The name, and its change where that leaves room for a part of the name: `-8…` of -80 % would be wrong."""
    if box.sides and box.sides[0] != box.sides[1]:
        sign = _sign(*box.sides)
        if len(sign) + 1 + min(len(frame.name), _LEAST_NAME) <= room:
            return f"{clip(frame.name, room - len(sign) - 1)} {sign}"
    return clip(frame.name, room)


def _fill(box: Box, frame: Frame) -> str:
    if box.sides:
        return LIGHT.changes[palette.step(*box.sides)]
    return LIGHT.frames[palette.slot(frame.name, frame.place)] if box.depth else LIGHT.changes[palette.STEPS]


def _told(box: Box, frame: Frame, metric: Metric, whole: Number) -> str:
    """The name, the place, and the amounts."""
    facts = [f"{frame.name} {frame.place}".strip()]
    if box.sides:
        before, after = (quantity(side, metric.unit) for side in box.sides)
        facts.append(f"{metric.name}: {before} → {after}, {change(*box.sides)}")
    else:
        self_text = "" if box.own is None else f", own {quantity(box.own, metric.unit)}"
        facts.append(f"{metric.name}: {quantity(box.total, metric.unit)}, {share(box.total, whole)}{self_text}")
    return "\n".join(facts)


def _legend(y: float, fill: str = "") -> Iterator[str]:
    """The scale of changes, with words: colour says nothing alone."""
    x = EDGE
    for label, step in (("gone", 0), ("less", 4), ("the same", 10), ("more", 16), ("new", 20)):
        color = fill.format(step) or f'fill="{LIGHT.changes[step]}"'
        yield f'<rect x="{x}" y="{y}" width="14" height="14" {color}/>'
        yield f'<text x="{x + 19}" y="{y + 11}">{label}</text>'
        x += 34 + round(len(label) * LETTER)


def _text(text: str) -> str:
    return html.escape(text, quote=False)


def _attribute(text: str) -> str:
    return _text(text).replace('"', "&quot;").replace("\n", "&#10;")
