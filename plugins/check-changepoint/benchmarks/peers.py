"""Detectors of others, each as a function from amounts to indexes; those that are installed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

Detector = Callable[[list[float]], list[int]]


def installed() -> dict[str, Detector]:
    """By name, the settings they come with, and where it has one that finds more, a second."""
    return {name: detector for some in (_own, _otava, _asv, _ruptures) for name, detector in some()}


def _own() -> Iterator[tuple[str, Detector]]:
    yield "t-test, sliding window", window_t_test


def window_t_test(values: list[float], width: int = 12, least: float = 5.0) -> list[int]:
    """Peaks of Welch's t between the windows before and after every version."""
    if len(values) < 2 * width:
        return []
    data = np.array(values)
    windows = np.lib.stride_tricks.sliding_window_view(data, width)
    means, variances = windows.mean(axis=1), windows.var(axis=1, ddof=1)
    spread = np.sqrt((variances[:-width] + variances[width:]) / width) + 1e-300
    t = np.abs(means[width:] - means[:-width]) / spread
    found: list[int] = []
    while len(t) and t.max() > least:
        place = int(t.argmax())
        found.append(place + width)
        t[max(0, place - width) : place + width] = 0
    return sorted(found)


def _otava() -> Iterator[tuple[str, Detector]]:
    """Apache Otava: its defaults, and a p-value that suits long histories better."""
    try:
        from otava.analysis import compute_change_points
    except ImportError:
        return

    def detect(values: list[float], max_pvalue: float) -> list[int]:
        found, _ = compute_change_points(values, window_len=50, max_pvalue=max_pvalue, min_magnitude=0.0)
        return sorted(int(point.index) for point in found)

    yield "Apache Otava", partial(detect, max_pvalue=0.001)
    yield "Apache Otava, p < 1e-5", partial(detect, max_pvalue=1e-5)


def _asv() -> Iterator[tuple[str, Detector]]:
    """The step detection of airspeed velocity."""
    try:
        from asv.step_detect import detect_steps
    except ImportError:
        return

    def detect(values: list[float]) -> list[int]:
        return [int(step[0]) for step in detect_steps(values)][1:]

    yield "asv, steps", detect


def _ruptures() -> Iterator[tuple[str, Detector]]:
    """Two of its detectors, with penalties in proportion to the logarithm of the length."""
    try:
        import ruptures
    except ImportError:
        return

    def kernel(values: list[float]) -> list[int]:
        scaled = np.array(values) / (float(np.median(np.abs(np.diff(values)))) or 1.0)
        return list(ruptures.KernelCPD(kernel="rbf").fit(scaled).predict(pen=0.9 * math.log(len(values))))[:-1]

    def pelt(values: list[float]) -> list[int]:
        data = np.array(values)
        noise = (float(np.median(np.abs(np.diff(data)))) * 1.05) ** 2 or 1.0
        return list(ruptures.Pelt(model="l2", jump=1).fit(data).predict(pen=6 * noise * math.log(len(data))))[:-1]

    yield "ruptures, kernel", kernel
    yield "ruptures, PELT", pelt
