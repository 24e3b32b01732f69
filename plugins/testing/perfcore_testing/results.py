"""Results of checks to try reports on. Each call makes a new, equal one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perfcore_check_kit.fail_rules import parse_rules

from perfcore.analysis.check_result import CheckResult
from perfcore.model import Change, Unpaired
from perfcore.model.decisions import Decision
from perfcore_testing import hostile as hostile_names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

KINDS = ("degradation", "optimization", "drift", "improving drift", "variance", "machine", "same", "cannot tell")


def change(kind: str = "degradation", **fields: Any) -> Change:
    """A verdict of this kind; `fields` are others of the class."""
    facts: dict[str, Any] = {
        "id": f"id of {kind}",
        "kind": kind,
        "metric": "cpu",
        "unit": "ns",
        "label": "sort big.txt",
        "baseline": "aaaaaaaaaa",
        "target": "bbbbbbbbbb",
        "baseline_value": 1e6,
        "target_value": 2e6,
        "ratio": 2.0,
        "low": 1.9,
        "high": 2.1,
        "evidence": "12 pairs",
    }
    return Change(**{**facts, **fields})


def unpaired(**fields: Any) -> Unpaired:
    """A configuration without a baseline."""
    facts: dict[str, Any] = {"label": "gzip", "config_id": "1:x", "version": "c" * 40, "reason": "none was measured"}
    return Unpaired(**{**facts, **fields})


def acceptance(change_id: str, **fields: Any) -> Decision:
    return Decision(**{"change": change_id, "why": "it is safer", "author": "Ann", "time": 1, **fields})


def nothing() -> CheckResult:
    """Nothing was compared."""
    return CheckResult()


def unchanged() -> CheckResult:
    """One metric that stayed the same."""
    return CheckResult(changes=(change("same", ratio=1.0, low=0.99, high=1.01, target_value=1e6),))


def failing() -> CheckResult:
    """One regression, which fails the build."""
    return CheckResult(changes=(change(),))


def every_kind() -> CheckResult:
    """One change of every kind, an accepted one, and a configuration without a baseline."""
    accepted = change(id="accepted", label="sort --safe", primary=False)
    return CheckResult(
        changes=(*map(change, KINDS), accepted), unpaired=(unpaired(),), accepted={"accepted": acceptance("accepted")}
    )


def inconclusive() -> CheckResult:
    """A metric that has to be decided and is not."""
    return CheckResult(
        changes=(change("cannot tell", ratio=None, low=None, high=None),), rules=parse_rules(["cannot-tell"])
    )


def contracts() -> CheckResult:
    """A broken contract and one that is met."""
    sentences = {"degradation": "cpu <= 1 ms", "same": "max_rss <= 64 MiB"}
    return CheckResult(changes=tuple(change(kind, contract=text, ratio=None) for kind, text in sentences.items()))


def history() -> CheckResult:
    """Two changes of one metric, of which the first was reverted."""
    versions = ("a" * 40, "b" * 40, "c" * 40)
    first = change(id="first", target=versions[0][:10], earliest=versions[0], latest=versions[0], undone=versions[2])
    second = change(id="second", target=versions[1][:10], earliest=versions[0], latest=versions[1])
    return CheckResult(changes=(first, second), conclusion="1 series over 3 versions: 1 regression")


def extreme() -> CheckResult:
    """Numbers that are absent, infinite or no numbers."""
    endless = change(ratio=float("inf"), low=float("nan"), high=3.0, baseline_value=0.0)
    return CheckResult(changes=(endless, change("variance", ratio=None, baseline_value=None, target_value=None)))


def hostile() -> CheckResult:
    """Every text is one that a stranger chose."""
    # Characters that XML forbids, and texts that would be commands of GitHub's runner or end a property of one.
    names = (*hostile_names.NAMES, "x\x00\x1f\ufffe\uffff\ud800y", "::error::forged", "a,b:c%0A")
    changes = tuple(
        change(id=name, metric=name or "m", resource=name, unit=name, label=name, evidence=name, ratio=None)
        for name in names
    )
    gaps = tuple(unpaired(label=name, reason=name, version=name) for name in names)
    accepted = {name: acceptance(name, why=name, author=name) for name in names[::2]}
    return CheckResult(changes=changes, unpaired=gaps, accepted=accepted)


SAMPLES: Mapping[str, Callable[[], CheckResult]] = {
    make.__name__: make
    for make in (nothing, unchanged, failing, every_kind, inconclusive, contracts, history, extreme, hostile)
}


class FakeSources:
    """The `Sources` of `perfcore.hookspecs` in memory: a file `src/sort.c` that differs between any two versions, and
    one of a hostile name."""

    def version(self, name: str = "") -> str | None:
        return (name or "h").ljust(40, "0")[:40]

    def parent(self, version: str) -> str | None:
        return "p" * 40

    def changed(self, old: str | None, new: str) -> tuple[str, ...]:
        return ("src/sort.c", "src/<script>alert %0A\x1b.c")

    def read(self, version: str | None, path: str) -> bytes | None:
        if version is None or path not in self.changed(None, version):
            return None
        return f"int main(void)\n/* {version} */\n".encode()
