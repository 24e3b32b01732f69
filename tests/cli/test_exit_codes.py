"""The table of exit codes in the docs is that of the code."""

from __future__ import annotations

import re
from pathlib import Path

from perfcore import errors
from perfcore.analysis import fail_on
from perfcore.cli import outcome

PAGE = Path(__file__).parents[2] / "docs" / "concepts.md"


def test_every_code_is_in_the_table_and_no_other() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## Exit codes")[2].partition("\n## ")[0]
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", section, re.MULTILINE)}
    of_errors = {
        error.exit_code
        for error in vars(errors).values()
        if isinstance(error, type) and issubclass(error, errors.PerfError)
    }
    of_checks = {fail_on.REGRESSED, fail_on.INCONCLUSIVE, fail_on.NOT_COMPARED}
    codes = {name: code for name, code in vars(outcome).items() if name.isupper() and isinstance(code, int)}
    of_processes = {code for name, code in codes.items() if name != "SIGNALLED"}  # to which the signal is added
    assert documented == {0} | of_errors | of_checks | of_processes
    assert "128 + n" in section
