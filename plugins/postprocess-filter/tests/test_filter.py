"""What is kept and what is said: values that are missing, no numbers, or large; names; wrong options."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
from perfcore_postprocess_filter import Filter, FilterSettings
from perfcore_testing import hostile, profiles

from perfcore.errors import NotFoundError, PerfError, UsageError
from perfcore.model import Header
from perfcore.model.record import replace
from perfcore.profile.table import column, table

if TYPE_CHECKING:
    from perfcore.model import Profile

ODD = "amount by <script>"


def profile_of(*values: Any, name: str = "amount", unit: str = "", dtype: Any = None) -> Profile:
    amounts = column(name, list(values), dtype=dtype, unit=unit, role="value")
    return profiles.profile({"resources": table("resources", [amounts])})


def filtered(profile: Profile, **options: Any) -> Profile:
    driver = Filter(FilterSettings(**options))
    driver.before(profile)
    result = driver.postprocess(profile)
    driver.after(result)
    return result


def amounts(profile: Profile, **options: Any) -> list[Any]:
    (found,) = filtered(profile, **options).tables["resources"].values()
    return list(found)


def refusal(profile: Profile, **options: Any) -> tuple[str, str]:
    with pytest.raises(PerfError) as raised:
        filtered(profile, **options)
    return str(raised.value), raised.value.hint or ""


def test_the_short_form_is_about_the_main_value() -> None:
    assert filtered(profiles.traced(), expression="<20us").tables["resources"].rows == 1
    assert amounts(profile_of(19, 20, 21), expression="<20") == [19]


def test_what_is_missing_is_neither_kept_nor_dropped_by_a_comparison() -> None:
    profile = profile_of(1, None, 30)
    assert amounts(profile, expression="<20") == [1]
    assert amounts(profile, expression=">=20") == [30]
    assert amounts(profile, expression="<20", drop=True) == [None, 30]
    assert amounts(profile, expression="amount is missing") == [None]


def test_what_is_missing_is_in_no_top() -> None:
    assert amounts(profile_of(-1, None, -30), top=3) == [-1, -30]


def test_a_nan_is_kept_by_no_comparison_and_in_no_top() -> None:
    profile = profile_of(1.0, math.nan, math.inf, -math.inf)
    assert amounts(profile, expression="<20") == [1.0, -math.inf]
    assert amounts(profile, top=3) == [1.0, math.inf, -math.inf]
    assert amounts(profile, top=1) == [math.inf]


def test_whole_numbers_beyond_floats_are_told_apart() -> None:
    profile = profile_of(2**53, 2**53 + 1, 2**53 + 2)
    assert amounts(profile, expression=f"> {2**53}") == [2**53 + 1, 2**53 + 2]
    assert amounts(profile, expression=f"= {2**53 + 1}") == [2**53 + 1]
    assert amounts(profile_of(2**64 - 1, 2**64 - 2, dtype="u64"), top=1) == [2**64 - 1]


def test_no_row_left_is_a_table_with_its_columns() -> None:
    result = filtered(profiles.timed(), expression="wall < 0")
    assert (result.tables["resources"].rows, result.tables["resources"].names) == (
        0,
        profiles.timed().tables["resources"].names,
    )
    assert profiles.stored(result) == result
    assert result.notes == ("filter: 0 of 5 rows of 'resources' are kept",)


def test_runs_and_snapshots_stay_when_all_their_rows_are_gone() -> None:
    moments = table("snapshots", [column("snapshot", [0, 1]), column("time", [10, 20], unit="ns", role="order")])
    profile = profiles.timed().replace_tables(snapshots=moments)
    result = filtered(profile, expression="run = 0")
    assert result.tables["resources"].rows == 1
    assert (result.tables["runs"], result.tables["snapshots"]) == (profile.tables["runs"], moments)


def test_the_header_gives_the_unit_where_the_column_does_not() -> None:
    profile = replace(profile_of(5_000_000), header=Header(type="time", units={"amount": "ns"}))
    assert amounts(profile, expression=">= 5ms") == [5_000_000]
    assert filtered(profile, expression=">= 5ms").tables["resources"]["amount"].unit == ""


def test_columns_and_texts_of_any_name_can_be_asked_for() -> None:
    odd = table("resources", [column(ODD, ["日本語 <b>", "naïve", "x"]), column("amount", [1, 2, 3], role="value")])
    profile = profiles.profile({"resources": odd})
    assert amounts(profile, expression=f"`{ODD}` like '日本%'") == [1]
    assert amounts(profile, expression=f"`{ODD}` = 'naïve'") == [2]
    assert amounts(profile_of(3, 4, name=ODD), top=1, by=ODD) == [4]


def test_top_and_share_of_each_snapshot() -> None:
    columns = [column("snapshot", [0, 0, 1, 1]), column("amount", [1, 9, 40, 60], unit="B", role="value")]
    profile = profiles.profile({"resources": table("resources", columns)})
    assert amounts(profile, top=1) == [60]
    assert amounts(profile, top=1, per="snapshot") == [9, 60]
    assert amounts(profile, share=90) == [40, 60]
    assert amounts(profile, share=90, per="snapshot") == [9, 40, 60]
    assert amounts(profile, over=50, per="snapshot") == [9, 60]


def test_every_condition_counts() -> None:
    profile = profiles.traced()
    chosen = filtered(profile, expression="file = 'parse.c'", top=1).tables["resources"]
    assert list(chosen["uid"]) == ["parse"]


def test_a_wrong_expression_is_shown_with_a_caret() -> None:
    message, _ = refusal(profiles.traced(), expression="amount > > 4")
    assert message.endswith("expected a value instead of '>'\n  amount > > 4\n           ^")


def test_an_unknown_column_is_answered_with_the_nearest_and_all() -> None:
    message, hint = refusal(profiles.traced(), expression="amunt > 4")
    assert "no column 'amunt'\n  amunt > 4\n  ^" in message
    assert "did you mean 'amount'? it has uid, file, line, amount, calls" in hint
    message, hint = refusal(profiles.traced(), top=3, by="amunt")
    assert message == "filter: table 'resources' has no column 'amunt'"
    assert hint == "did you mean 'amount'? it has uid, file, line, amount, calls"


def test_a_unit_that_does_not_convert_is_named_with_that_of_the_column() -> None:
    message, hint = refusal(profiles.traced(), expression="< 20MB")
    assert "column 'amount' is in 'ns', which 'MB' does not convert to" in message
    assert "ms" in hint


def test_text_cannot_be_ranked() -> None:
    message, _ = refusal(profiles.traced(), top=1, by="uid")
    assert message == "filter: column 'uid' of table 'resources' holds no numbers to rank by"


def test_a_table_without_values_has_no_top() -> None:
    profile = profiles.profile({"resources": table("resources", [column("uid", ["a"])])})
    assert refusal(profile, top=1) == (
        "filter: table 'resources' has no value column to rank by",
        "name one with --by",
    )


@pytest.mark.parametrize("option", ["share", "over"])
@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ((1, -1), "has negative amounts"),
        ((1.0, -math.inf), "has negative amounts"),
        ((1.0, math.inf), "has no finite sum"),
        ((1e308, 1e308), "has no finite sum"),
    ],
)
def test_there_is_no_share_of_what_has_no_sensible_total(option: str, values: Any, reason: str) -> None:
    message, hint = refusal(profile_of(*values), **{option: 50})
    assert message == f"filter: column 'amount' of table 'resources' {reason}, so there are no shares of it"
    assert "--top" in hint


@pytest.mark.parametrize("values", [(), (0, 0), (None, None), (math.nan,)])
def test_nothing_makes_a_share_of_nothing(values: Any) -> None:
    profile = profile_of(*values, dtype="f64")
    assert amounts(profile, share=100) == []
    assert amounts(profile, over=0) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "no option chooses rows"),
        ({"drop": True}, "no option chooses rows"),
        ({"top": 1, "share": 5.0}, "--top and --share cannot go together"),
        ({"expression": "<20", "by": "wall"}, "--by has no effect without --top"),
        ({"expression": "<20", "per": "run"}, "--per has no effect without --top"),
        ({"expression": "<20", "table": "stacks"}, "what other tables refer to"),
        ({"expression": "<"}, "expected a value instead of the end"),
    ],
)
def test_options_that_make_no_sense_are_refused_before_anything_is_measured(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        Filter(FilterSettings(**options))


def test_a_table_that_is_not_there_is_named_with_the_nearest_and_all() -> None:
    with pytest.raises(NotFoundError, match="no table 'resource'") as raised:
        filtered(profiles.timed(), expression="<20", table="resource")
    assert raised.value.hint == "did you mean 'resources'? it has resources, runs"


@pytest.mark.parametrize("name", hostile.NAMES)
def test_messages_show_hostile_names_safely(name: str) -> None:
    profile = profile_of(1, name=name)
    for options in ({"top": 1, "by": name + "x"}, {"expression": "`no such` > 1"}, {"top": 1, "table": name + "x"}):
        message, hint = refusal(profile, **options)
        assert hostile.unsafe(message + hint) == set()


def test_another_table_can_be_filtered() -> None:
    result = filtered(profiles.unheard_of(), expression="strength > 0.6", table="entanglement")
    assert list(result.tables["entanglement"]["pair"]) == ["b-c"]
    assert result.tables["resources"] == profiles.unheard_of().tables["resources"]


def test_what_keeps_every_row_changes_no_table() -> None:
    profile = profiles.timed()
    result = filtered(profile, expression="wall > 0")
    assert dict(result.tables) == dict(profile.tables)


def test_the_total_of_floats_is_correctly_rounded() -> None:
    """A tenth ten times over is 1, so that none of them is more than a tenth of it."""
    assert amounts(profile_of(*[0.1] * 10), over=10) == []
