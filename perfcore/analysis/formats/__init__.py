"""The outcome of a check as text: one module a format, each with `render(outcome)`."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping

from perfcore.analysis.check_result import CheckResult
from perfcore.text import printable_json

FORMATS: Mapping[str, str] = {
    "json": "everything, for programs",
    "junit": "JUnit XML, as Jenkins, GitLab and others read test results",
    "sarif": "SARIF 2.1.0, as GitHub's code scanning reads it",
    "github": "workflow commands, which GitHub Actions shows as annotations",
    "markdown": "a summary for a pull request",
}

LOCATED = frozenset({"sarif", "github"})  # formats that show verdicts in files


def render(name: str, outcome: CheckResult) -> str:
    """The outcome in a format of these, ending with a newline."""
    if name == "json":
        return printable_json(json.dumps(outcome.as_json(), indent=2, ensure_ascii=False, default=str)) + "\n"
    text: str = importlib.import_module(f"{__name__}.{name}").render(outcome)
    return text
