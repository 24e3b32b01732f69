"""Aggregated reports: read as a whole or not at all."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from perfcore_source_statprofiler import storable
from perfcore_source_statprofiler.report import NOTE, StatprofilerReportSource
from perfcore_source_statprofiler.report_contract import report, stored
from perfcore_source_statprofiler.testing import union

from perfcore.errors import FormatError
from perfcore.hookspecs import Segment

# What Perl writes in the place of a report: numbers as texts, shared, weak and missing values, and names in UTF-8.
_PERL = r"""
use strict; use utf8; use Storable qw(nstore store); use Scalar::Util qw(weaken);
my $work = {name => "App::wörk", file => "lib/App.pm", start_line => 2, exclusive => "5", package => "App", kind => 0,
            inclusive => 12, call_sites => {}, callees => {}};
my $native = {name => "List::Util::first", file => "", start_line => -1, exclusive => 7, kind => 1,
              package => "List::Util"};
my $main = bless {name => "", file => "app.pl", start_line => 1, exclusive => 0, kind => 0}, "Some::Class";
$work->{callees}{3} = $main; my $weak = $work->{self} = $work; weaken($work->{self});
my @lines; $lines[3] = 5; $lines[70] = 1.5; $lines[71] = -3; $lines[72] = 5_000_000_000; $lines[73] = "x" x 300;
my $subs = {"app.pl:main" => $main, "lib/App.pm:App::wörk:2" => $work, "(unknown):List::Util::first" => $native};
my $path = "app.pl:main;lib/App.pm:App::wörk:2";
my $flames = {$path => 5, "$path;(unknown):List::Util::first" => 7, "" => 2};
my $files = {"lib/App.pm" => {lines => {exclusive => \@lines, inclusive => \@lines}, report => undef}};
my $data = [1000, 40, "5.36.0", "mixed", {total => 14, subs => $subs, flames => $flames, files => $files, ok => !!1}];
nstore($data, $ARGV[0]); store($data, $ARGV[1]);
"""


def read(path: Path) -> Segment | str:
    """The segment, or why there is none."""
    (item,) = StatprofilerReportSource().read([path], "")
    return item if isinstance(item, Segment) else item[1].message


def written(folder: Path, document: Any, name: str = "report.1700000000.web1") -> Path:
    path = folder / name
    path.write_bytes(stored(document))
    return path


@pytest.fixture(scope="module")
def of_perl(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """One report, in network order and in that of this machine."""
    perl = shutil.which("perl")
    if perl is None or subprocess.run([perl, "-MStorable", "-e", "1"], capture_output=True).returncode:
        pytest.skip("there is no Perl with Storable")
    folder = tmp_path_factory.mktemp("reports")
    paths = [folder / "report.1700000000.web1", folder / "report.1700000000.web.example"]
    subprocess.run([perl, "-e", _PERL, *map(str, paths)], check=True)
    return paths


def test_reports_that_perl_wrote(of_perl: list[Path]) -> None:
    for path in of_perl:
        segment = read(path)
        assert isinstance(segment, Segment), segment
        counts = union([segment])
        assert counts.total == 14
        assert {id: (f.inclusive, f.exclusive) for id, f in counts.functions.items()} == {
            "app.pl:main": (12, 0),
            "lib/App.pm:App::wörk:2": (12, 5),
            "(unknown):List::Util::first": (7, 7),
        }
        assert counts.lines == {}
        assert segment.profile.notes == (NOTE,)
        assert segment.profile.collector.sampling["period"] == 1_000_000
        assert (segment.begin, segment.labels["perl"]) == (1_700_000_000 * 10**9, "5.36.0")
        assert segment.labels["host"] == path.name.partition("0000.")[2]


def test_values_of_perl_are_read_as_they_are(of_perl: list[Path]) -> None:
    for path in of_perl:
        aggregate = storable.loads(path.read_bytes())[4]
        lines = aggregate["files"]["lib/App.pm"]["lines"]
        assert lines["exclusive"][2:4] == [None, 5]
        assert [float(lines["inclusive"][70]), lines["inclusive"][71]] == [1.5, -3]
        assert int(lines["inclusive"][72]) == 5_000_000_000
        assert lines["exclusive"][73] == "x" * 300
        assert lines["exclusive"] is lines["inclusive"]
        assert int(aggregate["ok"]) == 1


def test_a_report_that_is_cut_anywhere_is_refused(of_perl: list[Path], tmp_path: Path) -> None:
    path = tmp_path / "report"
    for whole in (*(path.read_bytes() for path in of_perl), stored(report(2))):
        for size in range(len(whole)):
            path.write_bytes(whole[:size])
            assert isinstance(read(path), str)
        path.write_bytes(whole + b"\0")
        assert "more behind" in str(read(path))


def test_any_change_is_read_or_refused(tmp_path: Path) -> None:
    numbers = random.Random(3)
    whole = stored(report(2))
    path = tmp_path / "report"
    for _ in range(2_000):
        changed = bytearray(whole)
        for _ in range(numbers.randint(1, 3)):
            changed[numbers.randrange(len(changed))] = numbers.randrange(256)
        path.write_bytes(changed)
        segment = read(path)
        assert isinstance(segment, str) or sum(segment.profile.tables["resources"]["samples"].data) >= 0


def test_a_report_whose_sums_differ_is_refused(tmp_path: Path) -> None:
    for change in ("total", "flames", "subs"):
        document = report(2)
        aggregate = document[4]
        if change == "total":
            aggregate["total"] += 1
        elif change == "flames":
            aggregate["flames"]["app.pl:main"] = aggregate["flames"].pop("")
        else:
            aggregate["subs"]["lib/App.pm:App::work:2"]["exclusive"] += 1
        assert "other samples" in str(read(written(tmp_path, document)))
    document = report(2)
    document[4]["flames"]["app.pl:main;nobody"] = 0
    assert "not in the report" in str(read(written(tmp_path, document)))


def test_a_report_without_stacks_has_functions_alone(tmp_path: Path) -> None:
    document = report(2)
    document[4]["flames"] = {}
    segment = read(written(tmp_path, document))
    assert isinstance(segment, Segment)
    counts = union([segment])
    assert counts.total == 7
    assert {id: f.exclusive for id, f in counts.functions.items()} == {
        "lib/App.pm:App::work:2": 2,
        "(unknown):List::Util::first": 4,
    }


def test_the_samples_of_saved_queries_do_not_count_again(tmp_path: Path) -> None:
    for name in ("__main__", "carts"):
        (tmp_path / name).mkdir()
    assert isinstance(read(written(tmp_path / "__main__", report(1))), Segment)
    assert "are those of __main__" in str(read(written(tmp_path / "carts", report(1))))


def test_a_box_that_comes_again_with_more_is_the_same_segment(tmp_path: Path) -> None:
    first, second = (read(written(tmp_path, report(weight))) for weight in (1, 2))
    assert isinstance(first, Segment)
    assert isinstance(second, Segment)
    assert (first.stream, first.number) == (second.stream, second.number)
    assert first.digest != second.digest


@pytest.mark.parametrize("code", [b"\x1a", b"\x13", b"\x0b", b"\x20", b"\x00\0\0\0\x09", b"\4" * 100])
def test_what_is_no_data_is_refused(code: bytes) -> None:
    """Code, hooks, tied values, patterns, something that is not there, and references without end."""
    with pytest.raises(FormatError):
        storable.loads(b"pst0\5\x0b" + code)
