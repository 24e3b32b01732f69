"""The executor that measures here, in this process."""

from __future__ import annotations

from collections.abc import Iterator

from perfcore import environment
from perfcore.measure.runner import Context, run
from perfcore.model import Measured, Plan
from perfcore.plugins.registry import Plugins


class LocalExecutor:
    """Measures the jobs of a plan in turn on this machine."""

    def submit(self, plan: Plan) -> Iterator[Measured]:
        context = plan.context
        if not isinstance(context, Context):
            context = Context(plugins=Plugins(), options=lambda kind, name: {}, machine=environment.facts())
        yield from run(plan, context)
