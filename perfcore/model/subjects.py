"""What views show."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from perfcore.model.changes import Change
    from perfcore.model.profiles import Profile
    from perfcore.model.versions import MinorVersion


@attrs.frozen(kw_only=True)
class Subject:
    """What a view shows: profiles with their versions, changes, and the source of a version through the VCS.

    `names[i]` is what the user called `profiles[i]`. `source(version, path)` gives a file's bytes or None.
    """

    profiles: tuple[Profile, ...]
    names: tuple[str, ...] = ()
    versions: tuple[MinorVersion | None, ...] = ()
    changes: tuple[Change, ...] = ()
    source: Callable[[str, str], bytes | None] | None = None
