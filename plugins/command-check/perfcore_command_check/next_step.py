"""What to do where a check compared nothing, as in a new repository."""

from __future__ import annotations

from perfcore_check_kit.target import CheckTarget, Range, Version, VersionPair

from perfcore.repository.repository import Repository


def towards_a_comparison(repository: Repository, target: CheckTarget) -> str:
    """The command that measures what the target lacks; empty for profiles, which somebody named."""
    if isinstance(target, VersionPair):
        return _measured_by(f"{target.baseline[:10]} {target.target[:10]} ", "both versions")
    if not isinstance(target, Version | Range):
        return ""
    version = target.id if isinstance(target, Version) else repository.version(target.end or None)
    installed = repository.plugins.names("collector")
    collectors = [entry.collector for entry in repository.readable_entries(version)]
    if collectors and not set(collectors) & set(installed):
        return "to have something to compare, import results of another version, too"
    if not repository.vcs.get_minor_version_info(version).parents:
        usual = repository.plugins.usual_collector()
        collector = next((name for name in collectors if name in installed), usual)
        return f"next: commit a change, and measure it: perf collect {collector} --add -- COMMAND"
    return _measured_by("" if version == repository.version() else f"{version[:10]} ", "it with its baseline")


def _measured_by(versions: str, measured: str) -> str:
    return f"to measure {measured}: perf check {versions}--collect"
