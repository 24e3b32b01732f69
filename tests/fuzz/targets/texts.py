"""What people write: configurations, matrices, expressions."""

from __future__ import annotations

import contextlib
from pathlib import Path

from perfcore_command_run import matrix
from perfcore_table_kit import expression

from perfcore.config import documents, layers
from perfcore.config.settings import parse_seconds
from perfcore.profile.table import column, table

from .law import decoded, target

_ROWS = table(
    "resources",
    [
        column("run", [0, 1, 2], role="order"),
        column("wall", [1.5, None, float("nan")], unit="ms", role="value"),
        column("max_rss", [0, 2**62, None], unit="B", role="value"),
        column("uid", ["parse", "a%_\\b", None]),
        column("disturbed", [True, False, None]),
        column("odd `name`", [2**64 - 1, 0, None], dtype="u64"),
    ],
)


@target
def configuration(data: bytes) -> None:
    """A configuration file and the job matrix in it."""
    layer = decoded(lambda: layers.parse_layer("project", data, Path("fuzz.yml")))
    if layer is None:
        return
    for key in layers.KEYS:
        decoded(lambda key=key: layers.Config((layer,)).get(key))  # type: ignore[misc]
    found = decoded(lambda: matrix.from_config(layers.Config((layer,))))
    assert layer.running == tuple(map(str, layer.running))
    if found is not None:
        assert len(found.commands) <= matrix.MAX_JOBS
        assert all(isinstance(word, str) for command in found.commands for word in command.job.argv)


@target
def job_matrix(data: bytes) -> None:
    values = decoded(lambda: documents.parse(data, "fuzz.yml"))
    if isinstance(values, dict):
        decoded(lambda: matrix.parse(values, where=documents.Source("fuzz.yml", data)))


@target
def row_expression(data: bytes) -> None:
    """An expression, and what it says of a table."""
    text = data.decode("utf-8", "surrogateescape")
    with contextlib.suppress(ValueError):
        parse_seconds(text)
    found = decoded(lambda: expression.parse(text))
    if found is None:
        return
    assert expression.parse(str(found)) == found
    rows = decoded(lambda: list(expression.matching(found, _ROWS)))
    assert rows is None or rows == sorted(set(rows) & {0, 1, 2})
