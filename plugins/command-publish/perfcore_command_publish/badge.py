"""Badges: small SVG pictures of the state of a branch or of one series, for a README."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from perfcore_site_kit import data, sentences
from perfcore_view_kit.form import shown

from perfcore.analysis import verdict_text
from perfcore.text import clip, width

if TYPE_CHECKING:
    from perfcore_site_kit.branch import Branch, SeriesRow

_LETTER, _PADDING, _HEIGHT = 6.6, 7, 20  # pixels: of a sans-serif letter of 11 pixels, with room for wide ones
_MOST = 40  # columns of a text
# White on each has a contrast of at least 4.5:1 (WCAG 2.2, 1.4.3).
_COLORS = {"slower": "#b3261e", "faster": "#1a7a3c", "same": "#1a7a3c", "inconclusive": "#6b5e00"}
_NEUTRAL, _LABEL = "#5c6370", "#3b4048"


def of_branch(branch: Branch) -> bytes:
    """How many of the deciding series are slower: `performance | 1 of 20 slower`."""
    overview = data.overview(branch)
    counts = overview.counts
    total = sum(counts.values())
    slower = [state.row for state in overview.deciding if state.status == "slower"]
    if not total:
        return _badge("performance", "not measured", _NEUTRAL)
    if counts["slower"]:
        # Whoever knows the suite by its primary metric would look for the wrong one.
        metrics = {row.metric for row in slower}
        metric = f" ({metrics.pop()})" if len(metrics) == 1 and not any(row.primary for row in slower) else ""
        return _badge("performance", f"▲ {counts['slower']} of {total} slower{metric}", _COLORS["slower"])
    if counts["faster"]:
        return _badge("performance", f"▼ {counts['faster']} of {total} faster", _COLORS["faster"])
    if counts["not measured"] == total:
        return _badge("performance", f"{sentences.SIGNS['not measured']} not measured", _NEUTRAL)
    if not counts["same"]:
        return _badge("performance", "inconclusive", _COLORS["inconclusive"])
    return _badge("performance", f"= none of {total} slower", _COLORS["same"])


def of_series(branch: Branch, row: SeriesRow) -> bytes:
    """What became of a series: `parse | ▲ slower +5.2 %`."""
    state = data.state_of(branch, row)
    words: tuple[str, ...] = (state.status,)
    if state.change is not None and state.status in ("slower", "faster"):
        words = (verdict_text.word(state.change), sentences.size_of(state.change))
    text = " ".join(filter(None, (sentences.SIGNS[state.status], *words, state.decision)))
    return _badge(row.deciding_name, text, _COLORS.get(state.status, _NEUTRAL))


def _badge(label: str, text: str, color: str) -> bytes:
    """Two fields beside each other. `textLength` fits the letters of whatever font there is."""
    label, text = (clip(shown(words), _MOST) for words in (label, text))
    lengths = [max(1.0, width(words) * _LETTER) for words in (label, text)]
    first, second = (round(length) + 2 * _PADDING for length in lengths)
    fields = (
        f'<rect width="{first + second}" height="{_HEIGHT}" rx="3" fill="{_LABEL}"/>'
        f'<path d="M{first} 0h{second - 3}a3 3 0 0 1 3 3v{_HEIGHT - 6}a3 3 0 0 1-3 3h-{second - 3}z" fill="{color}"/>'
    )
    words = "".join(
        f'<text x="{x}" y="14" textLength="{length:.0f}" lengthAdjust="spacingAndGlyphs">{html.escape(each)}</text>'
        for x, each, length in ((_PADDING, label, lengths[0]), (first + _PADDING, text, lengths[1]))
    )
    title = html.escape(f"{label}: {text}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{first + second}" height="{_HEIGHT}" role="img" '
        f'aria-label="{title}"><title>{title}</title>{fields}'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">{words}</g></svg>\n'
    ).encode("utf-8", "backslashreplace")
