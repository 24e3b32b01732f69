"""Modules that are imported late are what they are when imported at once."""

from __future__ import annotations

import subprocess
import sys

import pytest

from perfcore.cli import lazy_imports

_BEGIN = """
import sys
from perfcore.cli.lazy_imports import LazyImports
sys.meta_path.insert(0, LazyImports)
"""


def _run(script: str) -> str:
    # -S: `site` may import some of them for what is installed.
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}{_BEGIN}{script}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", sorted(lazy_imports._LAZY))
def test_it_is_imported_when_something_of_it_is_used(name: str) -> None:
    script = f"""
import importlib, importlib.util
import msgspec
sys.modules.pop({name!r}, None)
lazy_imports = sys.modules['perfcore.cli.lazy_imports']
is_lazy = {name!r} in lazy_imports._LAZY
late = importlib.import_module({name!r})
print(is_lazy, '__builtins__' in vars(late))
try: late.there_is_no_such
except AttributeError: print('no such')
real = sys.modules[{name!r}]
print(real is not late, '__builtins__' in vars(late), all(getattr(late, n) is getattr(real, n) for n in vars(real)))
"""
    assert _run(script).split("\n") == ["True False", "no such", "True True True", ""]


def test_functions_taken_at_once_work() -> None:
    script = """
import pathlib, platform, uuid
assert 'ipaddress' not in sys.modules
assert pathlib.Path('/a b').as_uri() == 'file:///a%20b'
from urllib.parse import urlsplit
print(urlsplit('http://[::1]/x').hostname, getattr(uuid, '_platform_system', '') in ('', platform.system()))
import msgspec
print(msgspec.json.schema(int))
"""
    assert _run(script) == "::1 True\n{'type': 'integer'}\n"


def test_threads_that_use_it_first_at_one_time_all_get_it() -> None:
    script = """
import threading, textwrap
start = threading.Barrier(8)
got = []
def use():
    start.wait()
    got.append(textwrap.dedent('  x'))
threads = [threading.Thread(target=use) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(got == ['x'] * 8)
"""
    assert _run(script) == "True\n"


def test_typing_extensions_is_denied_to_msgspec_alone() -> None:
    assert _run("import msgspec\nprint('typing_extensions' in sys.modules)\nimport typing_extensions\n") == "False\n"
