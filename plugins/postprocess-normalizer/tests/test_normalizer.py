"""What comes of which amounts, and what is said: totals of 0, negative amounts, no numbers, units, names."""

from __future__ import annotations

import math
from typing import Any

import pytest
from perfcore_postprocess_normalizer import Normalizer, NormalizerSettings
from perfcore_testing import hostile, profiles

from perfcore.errors import NotFoundError, PerfError, UsageError
from perfcore.model import Header, Profile
from perfcore.model.record import replace
from perfcore.profile.table import column, table

ODD = "amount by <script>"


def profile_of(*values: Any, name: str = "amount", unit: str = "ns", dtype: Any = None, **others: Any) -> Profile:
    columns = [column(name, list(values), dtype=dtype, unit=unit, role="value")]
    columns += [column(each, rows, dtype="i64", role="order") for each, rows in others.items()]
    return profiles.profile({"resources": table("resources", columns)})


def scaled(profile: Profile, **options: Any) -> Profile:
    driver = Normalizer(NormalizerSettings(**options))
    driver.before(profile)
    result = driver.postprocess(profile)
    driver.after(result)
    return result


def amounts(profile: Profile, name: str = "amount", **options: Any) -> list[Any]:
    return list(scaled(profile, **options).tables["resources"][name])


def refusal(profile: Profile, **options: Any) -> tuple[str, str]:
    with pytest.raises(PerfError) as raised:
        scaled(profile, **options)
    return str(raised.value), raised.value.hint or ""


def test_amounts_are_divided_by_their_maximum_unless_said() -> None:
    assert amounts(profile_of(1, 2, 4)) == [0.25, 0.5, 1.0]
    assert amounts(profile_of(1, 3), to="total") == [0.25, 0.75]
    assert amounts(profile_of(1, 3), to="total", unit="%") == [25.0, 75.0]


def test_proportions_say_their_unit_and_keep_the_rest() -> None:
    result = scaled(profiles.timed()).tables["resources"]
    before = profiles.timed().tables["resources"]
    assert {column.unit for column in result.values()} == {"1"}
    assert result.names == before.names
    assert result["run"].same(before["run"])
    assert [column.role for column in result.columns] == [column.role for column in before.columns]


def test_each_run_and_each_snapshot_has_its_own_maximum() -> None:
    profile = profile_of(1, 2, 30, 60, 5, run=[0, 0, 1, 1, None])
    assert amounts(profile, per="run") == [0.5, 1.0, 0.5, 1.0, 1.0]
    assert amounts(profile_of(1, 3, 5, snapshot=[7, 7, 8]), to="total", per="snapshot") == [0.25, 0.75, 1.0]


def test_what_is_missing_stays_missing() -> None:
    assert amounts(profile_of(1, None, 4)) == [0.25, None, 1.0]
    assert amounts(profile_of(1, None, 4), unit="ps") == [1000, None, 4000]
    assert amounts(profile_of(None, None, dtype="i64")) == [None, None]


def test_a_nan_is_no_part_of_a_total_and_stays() -> None:
    first, second, third = amounts(profile_of(math.nan, 1.0, 3.0), to="total")
    assert math.isnan(first)
    assert (second, third) == (0.25, 0.75)


@pytest.mark.parametrize(
    ("values", "to", "name"),
    [
        ((0, 0), "total", "total"),
        ((0.0, -1.0), "max", "maximum"),
        ((-3, 1), "total", "total"),
        ((math.inf, 1.0), "max", "maximum"),
        ((math.inf, -math.inf), "total", "total"),
        ((1e308, 1e308), "total", "total"),
    ],
)
def test_without_a_sensible_whole_proportions_are_missing_and_the_profile_says_so(
    values: Any, to: str, name: str
) -> None:
    result = scaled(profile_of(*values), to=to)
    assert list(result.tables["resources"]["amount"]) == [None] * 2
    assert result.notes == (f"normalizer: 'amount' has no finite {name} above 0, so its proportions are missing",)
    assert profiles.stored(result) == result


def test_only_the_run_without_a_whole_misses_its_proportions() -> None:
    result = scaled(profile_of(0, 0, 2, 6, run=[0, 0, 1, 1]), to="total", per="run")
    assert list(result.tables["resources"]["amount"]) == [None, None, 0.25, 0.75]
    assert result.notes == (
        "normalizer: 'amount' has no finite total above 0 in 1 of 2 runs, so its proportions are missing",
    )


def test_negative_amounts_are_proportions_of_a_positive_whole() -> None:
    assert amounts(profile_of(-1, 4)) == [-0.25, 1.0]
    assert amounts(profile_of(-math.inf, 4.0)) == [-math.inf, 1.0]


def test_a_proportion_that_no_float_holds_is_missing_and_the_profile_says_so() -> None:
    result = scaled(profile_of(-1e300, 1e-300))
    assert list(result.tables["resources"]["amount"]) == [None, 1.0]
    assert result.notes == ("normalizer: 'amount' has 1 proportion too large for a float, which count as missing",)


def test_whole_numbers_beyond_floats_are_rounded_once() -> None:
    assert amounts(profile_of(2**53 + 1, 2**63 - 1), to="total") == [
        (2**53 + 1) / (2**53 + 2**63),
        (2**63 - 1) / (2**53 + 2**63),
    ]
    assert amounts(profile_of(2**53 + 1, unit="us"), unit="ns") == [(2**53 + 1) * 1000]
    assert amounts(profile_of(2**64 - 1, dtype="u64", unit="B"), unit="KiB") == [(2**64 - 1) / 1024]


def test_whole_amounts_stay_whole_in_a_smaller_unit_while_they_fit() -> None:
    small = scaled(profile_of(3), unit="ps").tables["resources"]["amount"]
    large = scaled(profile_of(2**62), unit="ps").tables["resources"]["amount"]
    assert (small.dtype, list(small)) == ("i64", [3000])
    assert (large.dtype, list(large)) == ("f64", [2.0**62 * 1000])


def test_no_rows_are_scaled_to_no_rows() -> None:
    for options in ({}, {"to": "total", "per": "run"}, {"unit": "ms"}):
        result = scaled(profiles.empty(), **options)
        assert result.tables["resources"].rows == 0
        assert result.notes == ()


def test_a_conversion_leaves_alone_what_does_not_convert() -> None:
    before, after = profiles.timed().tables["resources"], scaled(profiles.timed(), unit="ms").tables["resources"]
    assert (after["wall"].unit, after["cpu"].unit) == ("ms", "ms")
    assert after["max_rss"].same(before["max_rss"])
    assert after["wall"][0] == 12.345678


def test_the_header_gives_the_unit_where_the_column_does_not() -> None:
    profile = replace(profile_of(5_000_000, unit=""), header=Header(type="time", units={"amount": "ns"}))
    result = scaled(profile, unit="ms")
    assert list(result.tables["resources"]["amount"]) == [5.0]
    assert (result.tables["resources"]["amount"].unit, result.header.units) == ("ms", {"amount": "ms"})


def test_the_header_keeps_the_unit_that_another_table_relies_on() -> None:
    profile = replace(profile_of(5_000_000, unit=""), header=Header(type="time", units={"amount": "ns"}))
    profile = profile.replace_tables(models=table("models", [column("amount", [7], role="value")]))
    assert scaled(profile, unit="ms").header.units == {"amount": "ns"}


def test_only_the_metrics_that_are_named_are_scaled() -> None:
    before, after = profiles.timed().tables["resources"], scaled(profiles.timed(), metric=("wall",)).tables["resources"]
    assert after["wall"].unit == "1"
    assert after["cpu"].same(before["cpu"])


def test_other_tables_stay() -> None:
    profile = profiles.unheard_of()
    result = scaled(profile)
    assert {name: result.tables[name] for name in ("entanglement",)} == {"entanglement": profile.tables["entanglement"]}
    assert result.tables["resources"]["where"].same(profile.tables["resources"]["where"])


def test_a_metric_of_any_name_is_scaled() -> None:
    assert amounts(profile_of(1, 2, name=ODD), ODD, metric=(ODD,)) == [0.5, 1.0]


def test_a_unit_that_does_not_convert_is_named_with_that_of_each_metric() -> None:
    message, hint = refusal(profiles.timed(), unit="kg", metric=("wall",))
    assert message == "normalizer: nothing of this converts to 'kg': wall in 'ns'"
    assert hint == "'ns' converts to ps, us, µs, μs, ms, s, m, min, h"
    message, _ = refusal(profiles.timed(), unit="kg")
    assert message.endswith("wall, cpu in 'ns'; max_rss in 'B'; switches without a unit")


def test_named_metrics_have_to_convert_all() -> None:
    message, _ = refusal(profiles.timed(), unit="ms", metric=("wall", "max_rss"))
    assert message == "normalizer: nothing of this converts to 'ms': max_rss in 'B'"


def test_an_amount_that_no_float_holds_is_refused() -> None:
    message, _ = refusal(profile_of(1e308, unit="s"), unit="ns")
    assert message == "normalizer: 'amount' is too large to be written in 'ns'"
    assert amounts(profile_of(math.inf, unit="s"), unit="ns") == [math.inf]


def test_an_unknown_metric_is_answered_with_the_nearest_and_all() -> None:
    message, hint = refusal(profiles.timed(), metric=("wal",))
    assert message == "normalizer: table 'resources' has no metric 'wal'"
    assert hint == "did you mean 'wall'? it has wall, cpu, max_rss, switches"


def test_texts_are_no_metric() -> None:
    message, hint = refusal(profiles.traced(), metric=("uid",))
    assert message == "normalizer: table 'resources' has no metric 'uid'"
    assert hint.endswith("it has amount, calls")


def test_a_profile_without_amounts_is_refused() -> None:
    with pytest.raises(NotFoundError, match="has no table 'resources'"):
        scaled(profiles.bare())
    with pytest.raises(NotFoundError, match="no value column of numbers"):
        scaled(profiles.profile({"resources": table("resources", [column("uid", ["a"])])}))


def test_snapshots_that_are_not_there_are_said() -> None:
    message, hint = refusal(profiles.traced(), per="snapshot")
    assert message == "normalizer: table 'resources' has no column 'snapshot'"
    assert hint == "it has uid, file, line, amount, calls"


@pytest.mark.parametrize(("options", "idle"), [({"to": "max"}, "--to"), ({"per": "run"}, "--per")])
def test_proportions_are_not_in_a_unit_of_amounts(options: dict[str, Any], idle: str) -> None:
    with pytest.raises(UsageError, match=f"{idle} makes proportions, which are in 1 or %, not in 'ms'"):
        Normalizer(NormalizerSettings(unit="ms", **options))


@pytest.mark.parametrize("name", hostile.NAMES)
def test_messages_show_hostile_names_safely(name: str) -> None:
    profile = profile_of(0, name=name, unit=name)
    told = [*refusal(profile, unit="no such"), *refusal(profile, metric=(name + "x",))]
    assert hostile.unsafe("".join((*told, *scaled(profile).notes))) == set()


def test_the_total_of_floats_is_correctly_rounded() -> None:
    assert amounts(profile_of(*[0.1] * 10), to="total") == [0.1] * 10


def test_a_run_without_any_amount_has_no_total_to_miss() -> None:
    result = scaled(profile_of(None, math.nan, 1.0, run=[0, 1, 1]), to="total", per="run")
    assert result.tables["resources"]["amount"][0] is None
    assert result.tables["resources"]["amount"][2] == 1.0
    assert result.notes == ()
