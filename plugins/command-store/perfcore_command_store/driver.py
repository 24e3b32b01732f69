"""The drivers of `perf rm`, `perf tag`, `perf gc` and `perf fsck`, whose command lines are imported when used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import typer

    from perfcore.library import History
    from perfcore.model import Entry
    from perfcore.store.lookup import Ref
    from perfcore_command_store.examination import FsckResult
    from perfcore_command_store.garbage import GcResult
    from perfcore_command_store.tags import TagList


class RemoveCommand:
    """Remove registered or pending profiles."""

    chapter = "Store"
    after = "add"
    contract = "perfcore_command_store.contract:RemoveCommandContract"

    def app(self) -> typer.Typer:
        from perfcore_command_store.rm_command import new_app

        return new_app()

    def call(self, history: History, arguments: Mapping[str, Any]) -> tuple[Ref, ...]:
        """What `History.remove(...)` removed. The arguments are `names`, their `refs`, and `dry_run`."""
        from perfcore_command_store.removal import remove_named

        return remove_named(history.repository, **arguments)


class TagCommand:
    """Give profiles a name."""

    chapter = "Store"
    after = "rm"
    contract = "perfcore_command_store.contract:TagCommandContract"

    def app(self) -> typer.Typer:
        from perfcore_command_store.tag_command import new_app

        return new_app()

    def call(self, history: History, arguments: Mapping[str, Any]) -> TagList | Entry:
        """All tags without arguments; with `name`, `ref` and `delete` the new entry of a profile."""
        from perfcore_command_store.tags import change_tag, tag_list

        return change_tag(history.repository, **arguments) if arguments else tag_list(history.repository)


class GcCommand:
    """Remove objects that nothing refers to."""

    chapter = "Maintain"
    after = "log"
    contract = "perfcore_command_store.contract:GcCommandContract"

    def app(self) -> typer.Typer:
        from perfcore_command_store.gc_command import new_app

        return new_app()

    def call(self, history: History, arguments: Mapping[str, Any]) -> GcResult:
        """What `History.gc(...)` removed. The arguments are `grace` in seconds and `dry_run`."""
        from perfcore_command_store.garbage import remove_garbage

        return remove_garbage(history.repository, **arguments)


class FsckCommand:
    """Verify everything that is stored."""

    chapter = "Maintain"
    after = "gc"
    contract = "perfcore_command_store.contract:FsckCommandContract"

    def app(self) -> typer.Typer:
        from perfcore_command_store.fsck_command import new_app

        return new_app()

    def call(self, history: History, arguments: Mapping[str, Any]) -> FsckResult:
        """What `History.fsck()` says. There are no arguments."""
        from perfcore_command_store.examination import verify

        return verify(history.repository, **arguments)
