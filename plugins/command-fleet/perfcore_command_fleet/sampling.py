"""The environment in which Python processes sample themselves."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from perfcore.errors import PluginError


def sampled_environment(spool: Path, *, rate: float, interval: float, labels: Mapping[str, str]) -> dict[str, str]:
    """The variables of this process, and those that start the sampler. PluginError where it is not installed."""
    try:
        import perfcore_fleet_sampler
    except ImportError as error:
        raise PluginError("the sampler is not installed", hint="pip install perfcore-fleet-sampler") from error
    package = Path(perfcore_fleet_sampler.__file__).resolve().parent
    settings = {
        "library": str(package.parent),
        "spool": str(spool.resolve()),
        "rate": rate,
        "interval": interval,
        "labels": dict(labels),
    }
    path = [str(package / "site"), *filter(None, (os.environ.get("PYTHONPATH"),))]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path), "PERF_FLEET_RUN": json.dumps(settings)}
