"""A verdict in words, the same in every report. Names of strangers are printable but not escaped: each report escapes
the whole text for its format."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from perfcore_check_kit import conclusions, labels

from perfcore.analysis import verdict_text
from perfcore.analysis.check_result import CheckResult
from perfcore.model import EMPTY
from perfcore.model.decisions import SILENT, Standing
from perfcore.text import percent, plural, printable, quantity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from perfcore.model import Change, Unpaired
    from perfcore.repository.repository import Repository


def size(change: Change) -> str:
    """By how much it changed."""
    return percent(change.ratio) if change.ratio is not None else "-"


def interval(change: Change) -> str:
    """The interval of the change in words; empty where it has none."""
    if change.low is None or change.high is None:
        return ""
    return f"{percent(change.low)} to {percent(change.high)}"


def title(change: Change) -> str:
    """`cpu slower: +5.2 %`."""
    return f"{verdict_text.metric(change)} {verdict_text.word(change)}" + (
        f": {size(change)}" if change.ratio is not None else ""
    )


def on_machine(change: Change) -> str:
    """` on runner-2`: the machine of a comparison that several made; empty where one did."""
    is_comparison = change.kind != "machine" and len(change.environments) == 1
    return f" on {verdict_text.environment(*change.environments)}" if is_comparison else ""


def sentence(change: Change) -> str:
    """The whole verdict in one line."""
    if change.contract:
        return f"{printable(change.label)}: {printable(change.contract)}: {verdict_text.word(change)}"
    between = f" ({interval(change)})" if interval(change) else ""
    moved = f", {size(change)}{between}" if change.ratio is not None else ""
    pace = f", {verdict_text.drift(change)}" if change.pace is not None else ""
    before, after = (quantity(amount, change.unit) for amount in (change.baseline_value, change.target_value))
    measured = f"{printable(change.label)}{on_machine(change)}: {verdict_text.metric(change)}"
    verdict = f"{measured} {verdict_text.word(change)}{moved}{pace}"
    return f"{verdict}, {before} at {printable(change.baseline)}, {after} at {printable(verdict_text.end(change))}"


def undone(change: Change) -> str:
    """The version that took it back; empty where none did."""
    return f"undone in {printable(change.undone[:10])}" if change.undone else ""


def standing(result: CheckResult, change: Change) -> Standing | None:
    """The decision of a person on a change as it stands."""
    if accepted := result.accepted.get(change.id):
        return result.decisions.get(change.id, Standing(accepted))
    return result.decisions.get(change.id)


def decision(standing: Standing) -> str:
    """`accepted by Ann: it is safer`, `reopened, as it was +5.0 %; accepted by Ann: it is safer`."""
    made = standing.decision
    state = f"fixed in {made.fixed_in[:10]}" if made.fixed_in else made.state
    reason = f": {made.why}" if made.why else ""
    text = f"{state} by {made.author}{reason}"
    return printable(f"reopened, as {standing.reopened}; {text}" if standing.reopened else text)


def decided(result: CheckResult, change: Change) -> str:
    """The same of a change of a result; empty where nobody decided."""
    stands = standing(result, change)
    return decision(stands) if stands else ""


def unpaired(missing: Unpaired) -> str:
    return f"not compared: {printable(missing.label)} at {printable(missing.version[:10])}: {printable(missing.reason)}"


def conclusion(result: CheckResult) -> str:
    """The conclusion in one line, and how many of its changes are accepted; a change with other metrics counts once."""
    accepted_changes = [change for change in result.changes if change.id in result.accepted]
    count = sum(change.primary for change in accepted_changes) or len(accepted_changes)
    suffix = f"; of these, {plural(count, 'change')} {_states(result)}" if count else ""
    return (result.conclusion.replace("\n", "; ") or conclusions.of_comparisons(result.changes)) + suffix


def shared_command(changes: Sequence[Change]) -> str:
    """The command of all rows of a table, which says it once; empty where it tells rows apart. A change of the machine
    is of no command."""
    commands = {change.label for change in changes if change.kind != "machine"}
    return commands.pop() if len(commands) == 1 and len(changes) > 1 else ""


def way_to_decide(changes: Sequence[Change], collectors: Mapping[str, str] = EMPTY) -> str:
    """The command that decides that of these comparisons of two versions which differs most, where more runs would
    decide it; empty where there is none, or a regression to be looked at first. `collectors` are those of the
    configurations; of an unknown one the command is left to the reader."""
    primary = [change for change in changes if change.primary]
    if any(change.kind == "degradation" and not change.undone for change in primary):
        return ""
    undecided = [c for c in primary if c.kind == "cannot tell" and c.needed and c.baseline != c.target and _versions(c)]
    if not undecided:
        return ""
    change = max(undecided, key=_difference)  # of several the first, as `max` does
    collector = "--collector NAME " if change.resource else ""  # of benchmarks, `time` sees none
    measured = f"{collector}-- COMMAND"
    if name := collectors.get(change.config_id, ""):
        measured = labels.arguments(change.label, name)
    return f"to decide, measure both versions in turn: perf compare {' '.join(_versions(change))} {measured}"


def collectors_of(repository: Repository, result: CheckResult) -> dict[str, str]:
    """The collectors of the configurations of which something is inconclusive."""
    versions = {result.versions.get(change.target, "") for change in result.changes if change.kind == "cannot tell"}
    entries = (entry for version in sorted(versions - {""}) for entry in repository.readable_entries(version))
    installed = repository.plugins.names("collector")
    return {entry.config_id: entry.collector for entry in entries if entry.collector in installed}


def _versions(change: Change) -> list[str]:
    """Both sides as `perf compare` takes them: without a second one it measures uncommitted changes. Nothing where one
    side is of no version."""
    sides = (change.baseline, change.target)
    return [] if "pending" in sides else [printable(side) for side in sides if not side.endswith("+dirty")]


def _difference(change: Change) -> float:
    """By how much the two versions seem to differ, in either direction."""
    return abs(math.log(change.ratio)) if change.ratio and change.ratio > 0 else 0.0


def _states(result: CheckResult) -> str:
    """`accepted`, or what else people decided by which changes fail no check."""
    states = sorted({decision.state for decision in result.accepted.values()})
    return " or ".join(SILENT.get(state) or printable(state) for state in states)
