"""How the laws of the kind view are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import pytest
from perfcore_testing.view import ViewContract

from perfcore_view_annotate.view import AnnotateView


class AnnotateContract(ViewContract):
    """It writes lines to a terminal, and a folder of pages to a path."""

    folder = True
    fitted = True

    @pytest.fixture
    def driver(self) -> AnnotateView:
        return AnnotateView()
