"""Writing a profile to a file of any format."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfcore.errors import PluginError
from perfcore.model import EMPTY
from perfcore.repository.imports import make_format

if TYPE_CHECKING:
    from perfcore.model import Profile
    from perfcore.repository.repository import Repository


def write_profile(
    repository: Repository, profile: Profile, path: Path, format: str, options: Mapping[str, Any] = EMPTY
) -> None:
    """Write a profile to a file. PluginError where the format only reads."""
    driver = make_format(repository, format, options)
    if not hasattr(driver, "write"):
        raise PluginError(f"{repository.plugins.find('format', format)} can only read")
    driver.write(profile, path)
