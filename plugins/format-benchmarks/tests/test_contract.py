"""Every law of the kind format, for each format."""

from perfcore_format_benchmarks import contract


class TestHyperfine(contract.HyperfineContract):
    """`hyperfine --export-json`."""


class TestPytestBenchmark(contract.PytestBenchmarkContract):
    """`pytest --benchmark-json`."""


class TestPyperf(contract.PyperfContract):
    """`pyperf ... -o`."""


class TestAsv(contract.AsvContract):
    """A file of asv's results."""


class TestGoogleBenchmark(contract.GoogleBenchmarkContract):
    """`--benchmark_format=json`."""


class TestCriterion(contract.CriterionContract):
    """`new/sample.json` of a benchmark."""


class TestGobench(contract.GobenchContract):
    """The text of `go test -bench`."""


class TestJmh(contract.JmhContract):
    """`-rf json`."""


class TestCatch2(contract.Catch2Contract):
    """`--reporter xml`."""
