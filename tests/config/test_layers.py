"""The configuration: layers, keys, files, and what of it makes something run."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from perfcore.config import layers as configuration
from perfcore.config.layers import KEYS, Config, Layer, parse_layer, read_bytes, read_layer, set_value, write_atomically
from perfcore.config.trust import Trust
from perfcore.errors import FormatError, StorageError, UntrustedError, UsageError
from perfcore.locks import Lock


def test_the_strongest_layer_wins_and_defaults_come_last() -> None:
    config = Config((Layer("user", {"check": {"threshold": 1}}), Layer("local", {"check": {"threshold": 2}})))
    assert config.get("check.threshold") == 2
    assert config.get("gc.grace") == KEYS["gc.grace"].default
    assert config.with_layer("command line", {"check": {"threshold": 3}}).get("check.threshold") == 3
    assert config.get("no.such.key") is None


def test_the_origin_of_a_value_is_the_layer_it_is_taken_from() -> None:
    config = Config((Layer("user", {"check": {"threshold": 1}}), Layer("project", {"check": {"name": "x"}})))
    origin = config.origin("check.threshold")
    assert origin is not None
    assert origin.name == "user"
    assert config.origin("gc.grace") is None


def test_options_of_a_plugin_are_those_of_all_layers_together() -> None:
    config = Config(
        (
            Layer("user", {"collector": {"time": {"repeat": 1, "warmup": 1}}}),
            Layer("local", {"collector": {"time": {"repeat": 2}, "trace": {"repeat": 9}}}),
        )
    )
    assert config.plugin_options("collector", "time") == {"repeat": 2, "warmup": 1}
    assert config.plugin_options("view", "time") == {}


@pytest.mark.parametrize("key", sorted(KEYS))
def test_every_key_has_help_and_a_default_of_its_kind(key: str) -> None:
    assert KEYS[key].help.endswith(".")
    configuration.check_key(key)
    if KEYS[key].default is not None:
        section, _, name = key.partition(".")
        values = {section: {name: KEYS[key].default}} if name else {section: KEYS[key].default}
        assert Config((Layer("local", values),)).get(key) == KEYS[key].default


def test_keys_of_plugins_are_known_by_their_kind_only() -> None:
    configuration.check_key("collector.time.repeat")
    for key in ("colector.time.repeat", "collector.time", "collector..x", "collector.time.repeat.x", ""):
        with pytest.raises(UsageError, match="unknown configuration key"):
            configuration.check_key(key)


def test_files_that_are_not_there_or_empty_are_empty_layers(tmp_path: Path) -> None:
    assert read_layer("user", tmp_path / "nothing").values == {}
    for text in ("", "\n \n", "# only a comment\n"):
        path = tmp_path / "some.yml"
        path.write_text(text)
        assert read_layer("user", path).values == {}


def test_a_file_that_cannot_be_one_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        read_bytes(tmp_path)
    (tmp_path / "large").write_bytes(b"x" * 11)
    with pytest.raises(FormatError, match="over 10 are not read"):
        read_bytes(tmp_path / "large", 10)
    assert read_bytes(tmp_path / "large" / "below") is None


def test_what_runs_something_is_known_and_defaults_are_not_it() -> None:
    def running(values: dict[str, object]) -> tuple[str, ...]:
        return Layer("project", values).running

    assert running({"execute": {"pre_run": ["make"]}}) == ("execute.pre_run",)
    assert running({"storage": {"name": "local"}, "check": {"name": "pair"}, "bins": []}) == ()
    assert running({"storage": {"name": "other"}}) == ("storage.name",)
    assert running({"collector": {"time": {"repeat": 3}}}) == ("collector.time",)
    assert running({"check": {"threshold": 1}, "gc": {"grace": 1}, "schedule": {"repeat": 3}}) == ()


def test_only_versioned_and_local_files_need_to_be_trusted(tmp_path: Path) -> None:
    trust = Trust(tmp_path / "user" / "trusted")
    for name in ("user", "command line"):
        trust.require(Layer(name, {"bins": ["a"]}))
    layer = parse_layer("project", b"bins: [a]\n", tmp_path / "x.yml")
    with pytest.raises(UntrustedError, match="bins"):
        trust.require(layer)
    trust.add(layer.digest)
    trust.require(layer)
    trust.require(None)
    with pytest.raises(UntrustedError):
        trust.require(parse_layer("project", b"bins: [a] \n", tmp_path / "x.yml"))


def test_trust_is_added_once_and_by_many_at_a_time(tmp_path: Path) -> None:
    trust = Trust(tmp_path / "user" / "trusted")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(trust.add, [f"{number:064x}" for number in range(50)] * 2))
    assert all(trust.holds(f"{number:064x}") for number in range(50))
    assert not trust.holds("f" * 64)
    assert stat.S_IMODE(trust.path.stat().st_mode) == 0o600
    trust.add("0" * 64)
    assert trust.path.read_text().count("0" * 64) == 1


def test_a_list_of_trust_that_cannot_be_read_trusts_nothing(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        Trust(tmp_path).holds("x")


def test_values_are_set_with_everything_else_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "config.yml"
    path.write_text("# mine\ncheck:\n  name: pair  # ours\n")
    before, after = set_value(path, "check.threshold", 0.1)
    assert before.startswith(b"# mine")
    assert after == path.read_bytes()
    assert "name: pair  # ours" in path.read_text()
    set_value(path, "collector.time.repeat", 3)
    assert read_layer("user", path).values["collector"] == {"time": {"repeat": 3}}
    set_value(path, "check.threshold", None)
    assert read_layer("user", path).values["check"] == {"name": "pair"}


def test_a_value_that_does_not_fit_or_a_broken_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "config.yml"
    for text, key, value in (
        ("gc: {grace: 1}\n", "gc.grace", "soon"),
        ("gc: [\n", "gc.grace", 1),
        ("- a\n", "gc.grace", 1),
        ("gc: {grace: 1}\n", "gc.graze", 1),
        ("gc: 3\n", "check.threshold", 1),
    ):
        path.write_text(text)
        with pytest.raises(UsageError):
            set_value(path, key, value)
        assert path.read_text() == text


def test_nobody_s_change_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "config.yml"
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: set_value(path, f"collector.c{number}.repeat", number), range(16)))
    assert len(read_layer("user", path).values["collector"]) == 16


def test_who_changes_a_file_for_too_long_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perfcore.config.layers._PATIENCE", 0.01)
    path, lock = tmp_path / "config.yml", Lock(tmp_path / "config.yml.lock")
    assert lock.acquire()
    with pytest.raises(StorageError, match="another process"):
        set_value(path, "gc.grace", 2)
    assert not path.exists()
    lock.release()
    set_value(path, "gc.grace", 2)
    assert path.exists()


def test_who_may_read_a_file_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "config.yml"
    path.write_text("gc: {grace: 1}\n")
    path.chmod(0o640)
    set_value(path, "gc.grace", 2)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [each.name for each in tmp_path.iterdir() if not each.name.endswith(".lock")] == ["config.yml"]


def test_a_file_that_cannot_be_written_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(StorageError):
        write_atomically(tmp_path / "folder", b"x")
    assert [each.name for each in tmp_path.iterdir()] == ["folder"]
    with pytest.raises(StorageError):
        write_atomically(tmp_path / "missing" / "x", b"x")
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot write"):
        set_value(tmp_path / "file" / "config.yml", "gc.grace", 2)


def test_flat_lists_what_is_set_with_its_layer() -> None:
    config = Config((Layer("user", {"b": 1, "check": {"threshold": 1}}), Layer("local", {"check": {"threshold": 2}})))
    assert list(config.flat()) == [("b", 1, "user"), ("check.threshold", 2, "local")]
