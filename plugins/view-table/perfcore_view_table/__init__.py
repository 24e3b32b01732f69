"""The view `table` of perfcore: any table of a profile, in the terminal, as CSV, Markdown or JSON."""

from perfcore_view_table.view import TableSettings, TableView

__all__ = ["TableSettings", "TableView"]
