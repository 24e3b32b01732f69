"""The drivers of `perf rm`, `perf tag`, `perf gc` and `perf fsck`, whose command lines are imported when used."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer


class RemoveCommand:
    """Remove registered or pending profiles."""

    chapter = "Store"
    after = "add"
    contract = "perfcore_command_store.contract:RemoveCommandContract"

    def app(self) -> typer.Typer:
        from perfcore_command_store.rm_command import new_app

        return new_app()


class TagCommand:
    """Give profiles a name."""

    chapter = "Store"
    after = "rm"
    contract = "perfcore_command_store.contract:TagCommandContract"

    def app(self) -> typer.Typer:
        from perfcore_command_store.tag_command import new_app

        return new_app()


class GcCommand:
    """Remove objects that nothing refers to."""

    chapter = "Maintain"
    after = "log"
    contract = "perfcore_command_store.contract:GcCommandContract"

    def app(self) -> typer.Typer:
        from perfcore_command_store.gc_command import new_app

        return new_app()


class FsckCommand:
    """Verify everything that is stored."""

    chapter = "Maintain"
    after = "gc"
    contract = "perfcore_command_store.contract:FsckCommandContract"

    def app(self) -> typer.Typer:
        from perfcore_command_store.fsck_command import new_app

        return new_app()
