"""Options of plugins: one declaration, and what is made of it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfcore.config.settings import identity_params, options_of, parse_seconds, structure, to_params
from perfcore.errors import UsageError
from perfcore.model import Record
from perfcore.settings import OptionInfo, option


@attrs.frozen
class Settings:
    repeat: int = option(10, help="How many.", minimum=1, maximum=100, flags=("-r",))
    timeout: float | None = option(None, help="How long.", unit="s", minimum=0.001, identity=True)
    rate: float = option(0.5, help="How often.")
    order: str = option("first", help="Which.", choices=("first", "last"))
    deep: bool = option(False, help="Whether.", identity=True)
    names: tuple[str, ...] = option((), help="Which ones.", env="ACME_NAMES")
    max_runs: int | None = option(None, help="Most.", env="ACME_RUNS")
    place: Path | None = option(None, help="Where.")  # noqa: RUF009  (it makes a field)


def _made(values: dict[str, Any], **options: Any) -> Settings:
    return structure(Settings, values, where="collector acme", **options)


def test_nothing_given_is_the_defaults() -> None:
    assert _made({}) == Settings()


def test_values_are_taken_as_text_or_as_they_are() -> None:
    assert _made({"repeat": "3", "timeout": "500ms", "deep": "yes", "names": "a", "place": "x/y"}) == Settings(
        repeat=3, timeout=0.5, deep=True, names=("a",), place=Path("x/y")
    )
    assert _made({"repeat": 3.0, "timeout": 2, "deep": False, "names": ["a", 1]}) == Settings(
        repeat=3, timeout=2.0, names=("a", "1")
    )


def test_an_option_of_another_version_that_was_not_set_is_no_error() -> None:
    assert _made({"repeat": 3, "formerly": None}) == Settings(repeat=3)
    with pytest.raises(UsageError, match="unknown option 'formerly'"):
        _made({"formerly": False})


def test_keys_may_have_hyphens() -> None:
    assert _made({"max-runs": 3}).max_runs == 3


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"repaet": 3}, "unknown option 'repaet'"),
        ({"repeat": "three"}, "'repeat' wants a whole number, got 'three'"),
        ({"repeat": 1.5}, "'repeat' wants a whole number"),
        ({"repeat": True}, "'repeat' wants a whole number"),
        ({"repeat": 0}, "'repeat' is at least 1; got 0"),
        ({"repeat": 101}, "'repeat' is at most 100"),
        ({"repeat": None}, "'repeat' has no value"),
        ({"repeat": [1]}, "'repeat' wants a whole number"),
        ({"repeat": "9" * 5000}, "'repeat' wants a whole number"),
        ({"timeout": "soon"}, "'timeout' wants a duration"),
        ({"timeout": "nan"}, "'timeout'"),
        ({"timeout": math.nan}, "'timeout' is at least"),
        ({"timeout": 0}, "'timeout' is at least 0.001"),
        ({"order": "lst"}, "'order' is one of first, last; got 'lst'"),
        ({"deep": "maybe"}, "'deep' wants yes or no"),
        ({"names": [["a"]]}, "'names' wants text"),
        ({"place": 3}, "'place' wants a path"),
    ],
)
def test_what_does_not_fit_is_one_error_naming_the_option(values: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError) as raised:
        _made(values)
    assert str(raised.value).startswith("collector acme: ")
    assert says in str(raised.value)
    assert len(str(raised.value)) < 400


def test_an_unknown_key_names_the_nearest_of_all_that_can_stand_there() -> None:
    with pytest.raises(UsageError) as raised:
        _made({"repaet": 3})
    assert raised.value.hint == "did you mean 'repeat'?"
    with pytest.raises(UsageError) as raised:
        _made({"warmpu": 3}, others=("warmup",))
    assert raised.value.hint == "did you mean 'warmup'?"


def test_a_required_option_must_be_given() -> None:
    @attrs.frozen
    class Strict:
        name: str = option(help="The name.")

    assert [known.required for known in options_of(Strict)] == [True]
    with pytest.raises(UsageError, match="'name' is required"):
        structure(Strict, {}, where="view strict")


def test_a_variable_gives_what_nobody_else_does() -> None:
    environ = {"ACME_NAMES": "a  b", "ACME_RUNS": "7"}
    assert (_made({}, environ=environ).names, _made({}, environ=environ).max_runs) == (("a", "b"), 7)
    assert _made({"max_runs": 3}, environ=environ).max_runs == 3
    assert _made({}, environ={"ACME_RUNS": ""}).max_runs is None
    with pytest.raises(UsageError, match=r"\$ACME_RUNS"):
        _made({}, environ={"ACME_RUNS": "many"})


def test_params_are_json_and_make_the_same_settings_again() -> None:
    made = _made({"names": ["a", "b"], "place": "x", "timeout": 1})
    params = json.loads(json.dumps(to_params(made)))
    assert structure(Settings, params, where="again") == made


def test_identity_holds_only_what_makes_profiles_incomparable() -> None:
    assert identity_params(_made({"timeout": 2, "repeat": 3})) == {"timeout": 2.0, "deep": False}


def test_an_option_knows_its_type_and_how_it_is_written() -> None:
    known = {item.name: item for item in options_of(Settings)}
    assert list(known)[:2] == ["repeat", "timeout"]
    assert (known["timeout"].type, known["timeout"].optional) == (float, True)
    assert (known["names"].type, known["names"].many) == (str, True)
    assert known["max_runs"].flag == "--max-runs"


class Recorded(Record, frozen=True, kw_only=True):
    repeat: Annotated[int, OptionInfo("How many.", minimum=1, flags=("-r",))] = 10
    timeout: Annotated[float | None, OptionInfo("How long.", unit="s", identity=True)] = None
    names: Annotated[tuple[str, ...], OptionInfo("Which ones.", env="ACME_NAMES")] = ()


def test_a_record_has_the_same_options_as_a_class_of_attrs() -> None:
    @attrs.frozen
    class Same:
        repeat: int = option(10, help="How many.", minimum=1, flags=("-r",))
        timeout: float | None = option(None, help="How long.", unit="s", identity=True)
        names: tuple[str, ...] = option((), help="Which ones.", env="ACME_NAMES")

    assert options_of(Recorded) == options_of(Same)
    values = {"repeat": "3", "timeout": "2m"}
    made = structure(Recorded, values, where="here", environ={"ACME_NAMES": "a b"})
    assert made == Recorded(repeat=3, timeout=120.0, names=("a", "b"))
    assert to_params(made) == to_params(structure(Same, values, where="here", environ={"ACME_NAMES": "a b"}))
    with pytest.raises(UsageError, match="'repeat' is at least 1; got 0"):
        structure(Recorded, {"repeat": 0}, where="here")


def test_a_class_that_says_nothing_of_its_options_is_refused() -> None:
    with pytest.raises(TypeError, match="not an attrs class"):
        options_of(dict)

    @attrs.frozen
    class Silent:
        name: str = "x"

    with pytest.raises(TypeError, match=r"Silent\.name is not made by option"):
        options_of(Silent)

    class SilentRecord(Record, frozen=True):
        name: str = "x"

    with pytest.raises(TypeError, match=r"SilentRecord\.name is not made by option"):
        options_of(SilentRecord)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2", 2),
        ("500ms", 0.5),
        (" 3 m ", 180),
        ("1.5h", 5400),
        ("14d", 14 * 86400),
        ("1e3ms", 1),
        (7, 7),
        ("10us", 1e-5),
    ],
)
def test_durations_are_written_with_or_without_a_unit(text: str | int, seconds: float) -> None:
    assert parse_seconds(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "s", "1 year", "-1", "1.2.3", "nan", "inf", "1 2", "0x10", "٣"])
def test_what_is_no_duration_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_seconds(text)


@given(
    st.dictionaries(
        st.sampled_from(["repeat", "timeout", "deep", "names", "order", "x"]),
        st.one_of(st.none(), st.booleans(), st.floats(), st.text(max_size=5), st.lists(st.integers(), max_size=2)),
    )
)
def test_whatever_is_written_is_settings_or_a_usage_error(values: dict[str, Any]) -> None:
    try:
        made = _made(values)
    except UsageError:
        return
    assert 1 <= made.repeat <= 100
    assert made.order in ("first", "last")
