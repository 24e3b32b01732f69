"""The driver of `perf doctor`. The command line is imported when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer


class DoctorCommand:
    """Say what makes this machine unfit for measuring."""

    chapter = "Measure"
    contract = "perfcore_command_doctor.contract:DoctorCommandContract"

    def app(self) -> typer.Typer:
        from perfcore_command_doctor.command import new_app

        return new_app()
