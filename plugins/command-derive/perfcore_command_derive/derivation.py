"""Profiles derived from other profiles by a postprocessor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfcore.measure.runner import postprocess
from perfcore.model import Profile, Step
from perfcore.model.record import replace
from perfcore.repository.repository import Repository


def derive(
    repository: Repository,
    profile: Profile,
    postprocessor: str,
    options: Mapping[str, Any],
    *,
    origin: str | None = None,
    sources: tuple[str, ...] = (),
) -> Profile:
    """The profile after a postprocessor. It belongs to the version of its source, or to `origin` if that has none."""
    step = Step(name=postprocessor, params=options)
    result = postprocess(profile, [step], repository.plugins, repository.plugin_options)
    return replace(result, origin=profile.origin or origin, sources=sources)
