"""Fixtures of the whole suite: those that plugin authors get too, and the schemas of the documentation."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from perfcore_testing.distributions import site
from perfcore_testing.project import empty_project, project

__all__ = ["empty_project", "project", "site"]

SCHEMAS = Path(__file__).parent.parent / "docs" / "schemas"


@pytest.fixture
def follow_schema() -> Callable[[str, Any], None]:
    """Fails where a document does not follow a schema of docs/schemas."""
    from jsonschema import Draft202012Validator

    def follow(name: str, document: Any) -> None:
        schema = json.loads((SCHEMAS / f"{name}.json").read_text())
        Draft202012Validator.check_schema(schema)
        errors = [error.message for error in Draft202012Validator(schema).iter_errors(document)]
        assert errors == [], f"not as in docs/schemas/{name}.json"

    return follow
