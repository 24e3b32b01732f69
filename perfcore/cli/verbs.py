"""The verbs of `perf`: where each lives and what it says of itself in `perf --help`. Imported at every start."""

from __future__ import annotations

from collections.abc import Mapping

from perfcore.named_tuple import NamedTuple


class Verb(NamedTuple):
    """A verb: `module` is below `perfcore.cli`, `chapter` its heading in the help, `after` the verb before it. `page`
    is the module that shows the answer to the verb alone, without options."""

    module: str
    chapter: str
    help: str
    after: str = ""
    page: str = ""


VERBS: Mapping[str, Verb] = {
    "init": Verb("init", "Begin", "Make a performance history beside a repository."),
    "collect": Verb("collect", "Measure", "Measure commands with one collector."),
    "add": Verb("add", "Store", "Register profiles with their versions."),
    "status": Verb("status", "Inspect", "Show the profiles of this version, and the pending ones.", page="status_page"),
    "log": Verb("log", "Inspect", "List versions and their profiles.", page="log_page"),
}
