"""Which versions are likely to have made a change, before anything is measured: by the files they touch, and by what
a history shows. Never certain: the least likely version still has a hundredth of a common one's chance."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

# Weights against a version of which nothing is known. They are guesses, and mild ones: a right guess saves two or three
# runs, a wrong one costs about log2(weight) bits, and no weight is so small that runs could not outweigh it.
NOTHING, PROSE, TESTS, COMMON, NAMED, CHANGED = 0.02, 0.02, 0.1, 1.0, 3.0, 3.0
_PROSE = frozenset((".md", ".rst", ".adoc", ".tex", ".po", ".svg", ".png", ".jpg", ".jpeg", ".gif"))
_PROSE_FILES = re.compile(
    r"(licen[cs]e|copying|authors|contributors|changelog|changes|news|readme|code_of_conduct|codeowners)(\..*)?"
    r"|\.(gitignore|gitattributes|mailmap|editorconfig)",
    re.IGNORECASE,
)
_PROSE_FOLDERS = frozenset(("doc", "docs", "documentation", "changelog.d", "newsfragments"))
_TEST_FOLDERS = frozenset(("test", "tests", "testing", "spec", "testdata", ".github", ".gitlab", ".circleci", ".ci"))
_TEST_FILES = re.compile(r"(test_.*|.*[_.-](test|spec)\.[a-z]+|conftest\.py|\.(gitlab-ci|travis)\.yml|\.pre-commit.*)")
# Words of three letters or more: shorter ones, such as `a`, `io` or `py`, fit too many files.
_WORD = re.compile(r"[^\W_]{3,}")


def share(files: Iterable[str], words: frozenset[str], named: frozenset[str]) -> float:
    """How likely a version that touches these files is, against one of which nothing is known. `words` are those of
    the command and the function that are asked about; `named` are files that the command reads."""
    shares = [_of_file(file, words, named) for file in files]
    # The likeliest file decides: a change of code is none the less likely for a changelog beside it.
    return max(shares, default=NOTHING)


def shares(
    files: Sequence[Sequence[str] | None], texts: Iterable[str], changed: Iterable[tuple[int, int]] = ()
) -> tuple[float, ...]:
    """For versions that touch these files (None where nobody knows). `texts` are the words of the command and the
    function; each pair in `changed` is a row of versions, one of which a history shows to have changed something."""
    names = tuple(texts)
    named = frozenset(str(PurePosixPath(text)) for text in names)
    words = frozenset(word.lower() for text in names for word in _WORD.findall(PurePosixPath(text).stem or text))
    prior_shares = [COMMON if touched is None else share(touched, words, named) for touched in files]
    raised = {index for first, last in changed for index in range(first, last + 1)}
    return tuple(
        prior_share * CHANGED if index in raised else prior_share for index, prior_share in enumerate(prior_shares)
    )


def _of_file(file: str, words: frozenset[str], named: frozenset[str]) -> float:
    if file in named:
        return NAMED
    path = PurePosixPath(file)
    folders = {component.lower() for component in path.parent.parts}
    name = path.name.lower()
    if path.suffix.lower() in _PROSE or _PROSE_FILES.fullmatch(name) or folders & _PROSE_FOLDERS:
        return PROSE
    if folders & _TEST_FOLDERS or _TEST_FILES.fullmatch(name):
        return TESTS
    return NAMED if words & {word.lower() for word in _WORD.findall(path.stem)} else COMMON
