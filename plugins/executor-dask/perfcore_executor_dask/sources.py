"""Trees for workers that cannot reach the repository."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from perfcore_executor_kit import bundle
from perfcore_executor_local.trees import VcsExporter, exporter_of

from perfcore.errors import UsageError
from perfcore.measure.runner import Context
from perfcore.model import Plan, Source
from perfcore.model.record import replace
from perfcore.plugins import Plugins


def bundled(plan: Plan) -> Plan:
    """The plan with the trees of all its versions inside. UsageError for jobs of no version, whose tree cannot be
    named."""
    source = plan.source
    if source is None or source.kind == "bundle":
        return plan
    versions = dict.fromkeys(job.version for job in plan.jobs)
    if None in versions:
        raise UsageError(
            "uncommitted changes are measured only on this machine", hint="commit them, or use --executor local"
        )
    named = [version for version in versions if version is not None]
    return replace(plan, source=Source(kind="bundle", bundles=_bundles(plan, source, named)))


def _bundles(plan: Plan, source: Source, versions: list[str]) -> Mapping[str, bytes]:
    if source.kind == "path":
        assert source.root is not None
        return dict.fromkeys(versions, bundle.pack(source.root))
    with tempfile.TemporaryDirectory(prefix="perfcore-") as folder:
        context = plan.context if isinstance(plan.context, Context) else None
        vcs = context.vcs if context is not None else None
        exporter = VcsExporter(vcs) if vcs else exporter_of(source, Plugins(), Path(folder))
        packed = {}
        for version in versions:
            tree = Path(folder, "tree")
            exporter.export(version, tree)
            (tree / ".git").unlink(missing_ok=True)  # of a linked working tree: it points to this machine
            packed[version] = bundle.pack(tree)
            exporter.remove(tree)
            shutil.rmtree(tree, ignore_errors=True)
        return packed
