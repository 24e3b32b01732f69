"""Fuzzes the decoders with atheris, guided by coverage: `python tests/fuzz/run.py [--seconds N] [TARGET...]`.

Inputs that reach something new are kept in `corpus/TARGET` beside this file, as few and as small as do; an input that
broke a law is kept in `found/TARGET`, where the tests try it from then on. Without TARGET all are fuzzed, one after
the other, N seconds each.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
CORPUS, FOUND = HERE / "corpus", HERE / "found"
SECONDS = 60
_PACKAGES = ("perfcore", "perfcore_check_changepoint", "perfcore_collect_papi", "perfcore_collect_sample")
_FLEETS = ("perfcore_fleet_kit", "perfcore_source_otel", "perfcore_source_pprof", "perfcore_source_statprofiler")
_MORE = (
    "perfcore_format_benchmarks",
    "perfcore_format_chrome_trace",
    "perfcore_format_firefox",
    "perfcore_format_folded",
    "perfcore_format_pprof",
    "perfcore_format_speedscope",
    "perfcore_format_v8",
    "perfcore_pprof_kit",
    "perfcore_sample_kit",
    "perfcore_vcs_git",
    "perfcore_vcs_tagit",
    "ruamel",
)
# A decoder has a second for what it is given, and a hundredth of the memory that a small machine has.
_BOUNDS = ("-timeout=10", "-rss_limit_mb=1024", "-malloc_limit_mb=600", "-use_value_profile=1")
_KEPT_FILES, _KEPT_BYTES, _LARGEST = 150, 60_000, 4096


def inputs(*folders: Path) -> Iterator[Path]:
    """The files in these folders, sorted."""
    for folder in folders:
        yield from sorted(path for path in folder.glob("*") if path.is_file())


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="what is fuzzed (default: everything)")
    parser.add_argument("--seconds", type=int, default=SECONDS, help="for each target")
    parser.add_argument("--list", action="store_true", help="name the targets")
    parser.add_argument(
        "--together", metavar="RUNS", type=int, help="all targets in one process: the same inputs each time"
    )
    given = parser.parse_args(words)
    names = _names()
    unknown = [name for name in given.targets if name not in names]
    if unknown:
        parser.error(f"there is no target {', '.join(unknown)}; there are: {', '.join(names)}")
    if given.list:
        print("\n".join(names))
        return 0
    if given.together:
        return _together(names, given.together)
    return max([_fuzz(name, given.seconds) for name in given.targets or names])


def _names() -> list[str]:
    sys.path.insert(0, str(HERE))
    done = subprocess.run(
        [sys.executable, "-c", "import targets; print(*targets.TARGETS)"],
        cwd=HERE,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def _fuzz(name: str, seconds: int) -> int:
    """Fuzz one target and keep what is worth it."""
    corpus, found = CORPUS / name, FOUND / name
    corpus.mkdir(parents=True, exist_ok=True)
    found.mkdir(parents=True, exist_ok=True)
    print(f"{name}: {seconds} s", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        new = Path(folder) / "new"
        new.mkdir()
        prefix = f"-artifact_prefix={found}/"
        done = _child(name, prefix, f"-max_total_time={seconds}", str(new), str(corpus), str(found))
        smallest = Path(folder) / "smallest"
        smallest.mkdir()
        _child(name, prefix, "-merge=1", str(smallest), str(corpus), str(new))
        _replace(corpus, smallest)
    if not any(found.iterdir()):
        found.rmdir()
    print(f"{name}: {len(list(inputs(corpus)))} inputs kept, exit {done}", file=sys.stderr, flush=True)
    return done


def _replace(corpus: Path, smallest: Path) -> None:
    """The corpus becomes the smallest inputs, up to a bound."""
    kept: list[Path] = []
    size = 0
    for path in sorted(inputs(smallest), key=lambda path: (path.stat().st_size, path.name)):
        size += path.stat().st_size
        if len(kept) < _KEPT_FILES and size <= _KEPT_BYTES:
            kept.append(path)
    if not kept:
        return
    for path in inputs(corpus):
        path.unlink()
    for path in kept:
        shutil.copyfile(path, corpus / path.name[:16])


def _together(names: Sequence[str], runs: int) -> int:
    """Fuzz all targets in one process: the first byte of an input says which one it is for. Nothing is left to chance
    and nothing kept, so that what fails fails again."""
    os.environ["PYTHONHASHSEED"] = "0"
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(names):
            for path in inputs(CORPUS / name):
                Path(folder, f"{number}-{path.name}").write_bytes(bytes([number]) + path.read_bytes())
        return _child(
            "together", f"-artifact_prefix={folder}/", f"-runs={runs}", "-seed=1", "-print_final_stats=1", folder
        )


def _child(name: str, *arguments: str) -> int:
    """libFuzzer in a process of its own. It starts itself again by its first word, so that is a script."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "fuzz"
        words = shlex.join([sys.executable, str(HERE / "run.py"), "--child", str(script), name])
        script.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        script.chmod(0o700)
        return subprocess.run([script, *_BOUNDS, f"-max_len={_LARGEST}", *arguments], check=False).returncode


def _run_child(script: str, name: str, arguments: Sequence[str]) -> None:
    """What the script does, until libFuzzer ends it."""
    import atheris

    sys.path.insert(0, str(HERE))
    with atheris.instrument_imports(include=[*_PACKAGES, *_FLEETS, *_MORE], enable_loader_override=False):
        import targets

    tried = list(targets.TARGETS.values())

    def together(data: bytes) -> None:
        if data:
            tried[data[0] % len(tried)](data[1:])

    function = together if name == "together" else targets.TARGETS[name]
    atheris.Setup([script, *arguments], function)
    atheris.Fuzz()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        _run_child(sys.argv[2], sys.argv[3], sys.argv[4:])
    sys.exit(main(sys.argv[1:]))
