"""The fits of a profile: its table `models`, as postprocessors of regression analysis write it, evaluated."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import attrs
from perfcore_view_kit.form import shown

if TYPE_CHECKING:
    from perfcore.model import Profile

# As in the profiles of Perun: coefficients b0, b1, b2 of each model.
_FORMULAS: Mapping[str, tuple[int, Callable[..., float]]] = {
    "constant": (1, lambda x, b0: b0),
    "linear": (2, lambda x, b0, b1: b0 + b1 * x),
    "logarithmic": (2, lambda x, b0, b1: b0 + b1 * math.log(x)),
    "quadratic": (3, lambda x, b0, b1, b2: b0 + b1 * x + b2 * x * x),
    "power": (2, lambda x, b0, b1: b0 * x**b1),
    "exponential": (2, lambda x, b0, b1: b0 * b1**x),
}


@attrs.frozen
class Fit:
    """One model of a group, between two values of the parameter. `quality` is its coefficient of determination."""

    group: str
    model: str
    coefficients: tuple[float, ...]
    start: float
    end: float
    quality: float | None

    def __call__(self, x: float) -> float | None:
        """The value at x; None outside of the interval, and where the model has none."""
        if not self.start <= x <= self.end:
            return None
        _, formula = _FORMULAS[self.model]
        try:
            value = formula(x, *self.coefficients)
        except (ValueError, OverflowError, ZeroDivisionError):
            return None
        return value if isinstance(value, float | int) and math.isfinite(value) else None

    @property
    def words(self) -> str:
        quality = "" if self.quality is None else f", R² {self.quality:.3f}"
        return f"{self.model} fit{quality}"


def best_fits(profile: Profile) -> dict[str, Fit]:
    """The fit with the largest R² of each group (column `uid`). Rows that are no model are passed over: they come from
    strangers."""
    models = profile.table("models")
    if models is None:
        return {}
    columns = {column.name: list(column) for column in models.columns}
    best: dict[str, Fit] = {}
    for at in range(models.rows):
        fit = _fit({name: values[at] for name, values in columns.items()})
        if fit is not None and (fit.group not in best or (fit.quality or 0) > (best[fit.group].quality or 0)):
            best[fit.group] = fit
    return best


def _fit(row: Mapping[str, object]) -> Fit | None:
    model = str(row.get("model"))
    coefficients = _coefficients(row.get("coeffs"))
    if model not in _FORMULAS or coefficients is None or len(coefficients) != _FORMULAS[model][0]:
        return None
    start, end = (_number(row, *names) for names in (("x_start", "x_interval_start"), ("x_end", "x_interval_end")))
    return Fit(
        group=str(row.get("uid") or ""),
        model=shown(model),
        coefficients=coefficients,
        start=-math.inf if start is None else start,
        end=math.inf if end is None else end,
        quality=_number(row, "r_square"),
    )


def _coefficients(text: object) -> tuple[float, ...] | None:
    """The values of a list of `{"name": "b0", "value": 1.0}` in JSON, by name."""
    try:
        entries = json.loads(text) if isinstance(text, str) else None
        named: Sequence[tuple[str, float]] = [(str(entry["name"]), float(entry["value"])) for entry in entries or ()]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return tuple(value for _, value in sorted(named)) or None


def _number(row: Mapping[str, object], *names: str) -> float | None:
    for name in names:
        value = row.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            return float(value)
    return None
