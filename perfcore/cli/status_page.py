"""What `perf status` shows. Nothing here imports Typer: `perf status` is answered without."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING, Any

from perfcore.analysis import note_keys
from perfcore.cli import listing
from perfcore.errors import FormatError, VersionError
from perfcore.store import notes
from perfcore.store import pending as pending_profiles
from perfcore.text import align, plural, printable

if TYPE_CHECKING:
    from perfcore.cli.console import Console
    from perfcore.cli.marks import Marks
    from perfcore.repository.repository import Repository

SCHEMA = 1
SHORT = ("--short", "-s")
PLAIN = dict.fromkeys(SHORT, ("short", bool)) | {"--json": ("as_json", bool)}
"""The argument of `show` that a plain option sets, and its type."""


def show(console: Console, *, short: bool = False, as_json: bool = False) -> None:
    """The current version, its profiles, and the pending ones."""
    if as_json:
        console.json(_as_json(console))
    elif short:
        _show_short(console)
    else:
        _show_long(console)


def _show_long(console: Console) -> None:
    repository = console.repository
    head = _head(repository)
    major = repository.vcs.get_head_major_version()
    branch = f"on {printable(major.name)}" if major.name else "detached"
    if head is None:
        console.line(f"{branch}, no version yet")
    else:
        info = repository.vcs.get_minor_version_info(head)
        console.line(f"{branch} at {console.paint(info.short, 'yellow')} {printable(info.subject)}")
    entries = repository.readable_entries(head) if head else ()
    console.line()
    if head and entries:
        console.line(f"{plural(len(entries), 'profile')} of this version:")
        rows = [(f"  {i}@i", *listing.entry_cells(entry)) for i, entry in enumerate(entries)]
        console.write("".join(f"{line}\n" for line in align(rows)))
        _print_checks(console, head)
        _print_gates(console, {entry.config_id for entry in entries})
    else:
        measure = f"perf collect {console.plugins.usual_collector()} -- COMMAND"
        console.line(f"no profiles of this version (measure: {measure})")
    pending = pending_profiles.walk(repository.store, outline="summary")
    if pending:
        console.line()
        addable = [(i, p.profile.origin) for i, p in enumerate(pending) if head and p.profile and not p.profile.dirty]
        choice = next((f"{i}@p" for i, origin in addable if origin in (None, head)), "--all")
        register = f"register: perf add {choice}; " if addable else ""
        console.line(f"{plural(len(pending), 'pending profile')} ({register}drop: perf rm 0@p):")
        rows = [(f"  {i}@p", *listing.pending_cells(waiting, head)) for i, waiting in enumerate(pending)]
        console.write("".join(f"{line}\n" for line in align(rows)))
        if any(waiting.profile and waiting.profile.incomplete for waiting in pending):
            console.line("incomplete: the command that measured it adds the missing runs with --continue")


def _show_short(console: Console) -> None:
    """A line for each profile: number, version, collector and command, with tabs between them."""
    page = _as_json(console)
    for row in (*page["profiles"], *page["pending"]):
        command = " ".join(filter(None, (row.get("cmd"), row.get("args"), row.get("workload"))))
        version = row.get("origin", page["version"] if row in page["profiles"] else None)
        cells = (row["number"], version or "-", row.get("collector") or row.get("type") or "damaged", command)
        console.line("\t".join(map(printable, cells)))


def _print_checks(console: Console, head: str) -> None:
    """What checks found for the version, where there was one."""
    marks = _marks(console, head)
    if marks is None or not (results := marks.results(head)):
        return
    console.line()
    from perfcore.analysis.stored_results import last_check

    # A check that says only what is known leaves no note, but a time in the read model, which may be gone.
    when = listing.moment(max(last_check(console.repository.store, head), *(result.time for result in results)))
    lines = marks.lines(head)
    primary = [change for result in results for change in result.changes if change.primary]
    doubt = any(change.kind == "cannot tell" for change in primary)
    summary = ":" if lines else ", inconclusive" if doubt else ", and no change found"
    console.line(f"checked {when}{summary}")
    for line in lines:
        console.line(line)


def _marks(console: Console, head: str) -> Marks | None:
    """What checks found, where they left anything."""
    # Most have never run, and what reads their results need not be imported.
    repository = console.repository
    if not note_keys.have_results(repository.store, (note_keys.bucket(repository.vcs_name, head),)):
        return None
    from perfcore.cli.marks import Marks

    return Marks(console)


def _print_gates(console: Console, config_ids: Container[str]) -> None:
    """What the checks can see of these commands, where `perf check --calibrate` has tried them."""
    if not notes.exist(console.repository.store, note_keys.CALIBRATION):
        return
    from perfcore.analysis import check_drivers

    try:
        for line in check_drivers.calibrated(console.repository, config_ids):
            console.line(line)
    except FormatError as error:
        console.repository.leave_out(error)


def _as_json(console: Console) -> dict[str, Any]:
    repository = console.repository
    head = _head(repository)
    major = repository.vcs.get_head_major_version()
    waiting = pending_profiles.walk(repository.store, outline="summary")
    return {
        "schema": SCHEMA,
        "root": str(repository.root),
        "vcs": repository.vcs_name,
        "major": major.name or None,
        "version": head,
        "profiles": [listing.entry_json(i, e) for i, e in enumerate(repository.readable_entries(head) if head else ())],
        "changes": marks.as_json(head) if head and (marks := _marks(console, head)) else [],
        "pending": [listing.pending_json(i, p) for i, p in enumerate(waiting)],
    }


def _head(repository: Repository) -> str | None:
    try:
        return repository.version()
    except VersionError:
        return None
