"""Facts about the machine: only those that are allowed, and an identity that stays."""

from __future__ import annotations

import json
import os

import pytest

from perfcore import environment

ALLOWED = {"host", "system", "release", "arch", "cpu", "cpus", "cpus_usable", "memory_gib", "python"}


def test_only_facts_of_the_list_are_told() -> None:
    assert set(environment.facts()) == ALLOWED
    assert all(isinstance(value, str | int) for value in environment.facts().values())


def test_no_variable_of_the_environment_is_ever_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_TOKEN", "secret-7d1f")
    assert "secret-7d1f" not in json.dumps(environment.facts())
    assert os.environ["ACME_TOKEN"]


def test_what_plugins_add_stands_apart_and_changes_no_identity() -> None:
    plain, added = environment.facts(), environment.facts([{"cpu": "other"}, {"governor": "performance"}])
    assert added["extra"] == {"cpu": "other", "governor": "performance"}
    assert environment.environment_id(added) == environment.environment_id(plain)


def test_the_identity_of_a_machine_is_that_of_the_facts_that_matter() -> None:
    machine = {"system": "Linux", "arch": "x86_64", "cpu": "Example", "cpus": 8, "memory_gib": 16}
    id = environment.environment_id(machine)
    assert environment.environment_id({**machine, "host": "other", "release": "6.9", "python": "3.99"}) == id
    for name in machine:
        assert environment.environment_id({**machine, name: "changed"}) != id


def test_the_identity_of_a_configuration_depends_on_no_order() -> None:
    one = environment.config_id({"argv": ["a", "b"], "env": {"x": "1", "y": "2"}})
    assert one == environment.config_id({"env": {"y": "2", "x": "1"}, "argv": ["a", "b"]})
    assert one != environment.config_id({"env": {"y": "2", "x": "1"}, "argv": ["b", "a"]})


def test_identities_are_what_they_were_when_profiles_were_stored_by_them() -> None:
    machine = {"system": "Linux", "arch": "x86_64", "cpu": "Example", "cpus": 8, "memory_gib": 16}
    assert environment.environment_id(machine) == "1:3fc262a66aafae0d53cc8789aeb6aea82a86ab74"
    assert (
        environment.config_id({"argv": ["sort", "größe"], "workload": []})
        == "1:1d050c26fb9512ad5501583204fdeb261df860ee"
    )
