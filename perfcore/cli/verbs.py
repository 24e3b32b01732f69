"""The verbs of `perf`: where each lives and what it says of itself in `perf --help`. Imported at every start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Verb(NamedTuple):
    """A verb: `module` is below `perfcore.cli`, `chapter` its heading in the help."""

    module: str
    chapter: str
    help: str


VERBS: Mapping[str, Verb] = {
    "init": Verb("init", "Begin", "Make a performance history beside a repository."),
    "collect": Verb("collect", "Measure", "Measure commands with one collector."),
    "run": Verb("run", "Measure", "Measure the job matrix, for one version or many."),
    "postprocess": Verb("postprocess", "Measure", "Make a new profile of an old one."),
    "aggregate": Verb("aggregate", "Measure", "Join several profiles into one."),
    "add": Verb("add", "Keep", "Register profiles with their versions."),
    "rm": Verb("rm", "Keep", "Take registered or pending profiles away."),
    "tag": Verb("tag", "Keep", "Give profiles a name."),
    "import": Verb("import_", "Keep", "Read profiles from files of other tools."),
    "export": Verb("export", "Keep", "Write a profile to a file."),
    "status": Verb("status", "Look", "What there is for this version, and what is pending."),
    "log": Verb("log", "Look", "The versions and their profiles."),
    "history": Verb("history", "Look", "A metric or a function over the versions."),
    "show": Verb("show", "Look", "Show profiles in a view."),
    "diff": Verb("diff", "Look", "What differs between two profiles, by function."),
    "check": Verb("check", "Look", "Find what became slower or faster."),
    "config": Verb("config", "Tend", "Read, change and trust the configuration."),
    "plugins": Verb("plugins", "Tend", "What is installed, and whether it works."),
    "gc": Verb("gc", "Tend", "Remove objects that nothing refers to."),
    "fsck": Verb("fsck", "Tend", "Verify everything that is stored."),
}
