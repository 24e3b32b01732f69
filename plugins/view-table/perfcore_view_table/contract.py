"""How the laws of the kind view are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import pytest
from perfcore_testing.view import ViewContract

from perfcore_view_table.view import TableView


class TableContract(ViewContract):
    """The table for terminals, which is what it is made for without options."""

    fitted = True

    @pytest.fixture
    def driver(self) -> TableView:
        return TableView()
