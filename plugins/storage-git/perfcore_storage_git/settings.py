"""The settings of the storage `git`."""

from __future__ import annotations

import attrs

from perfcore.settings import option

REF = "refs/perf/store"


@attrs.frozen
class GitStorageSettings:
    """Where the store is, and how it is reached."""

    url: str = option("", help="The git repository, as `git push` takes it: a URL, or a path.", metavar="URL")
    ref: str = option(REF, help="The ref that holds the store; branches and tags are left alone.", metavar="REF")
    config: str = option(
        "",
        help="A configuration of git whose settings of http, of credentials and of other URLs count, too.",
        metavar="FILE",
    )
    programs: bool = option(True, help="Whether a repository in a folder runs its hooks when it is pushed to.")
    hold: float = option(
        0.0,
        help="How long a read may rely on the last look at the repository; listing always looks.",
        unit="s",
        minimum=0,
    )
