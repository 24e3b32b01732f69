"""`perf show` keeps the laws of commands."""

from __future__ import annotations

from perfcore_command_show.contract import ShowContract


class TestShow(ShowContract):
    pass
