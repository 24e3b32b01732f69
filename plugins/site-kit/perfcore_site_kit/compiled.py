"""Compiled templates, kept where Python keeps compiled modules: beside the templates, or below `sys.pycache_prefix`."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from pathlib import Path

import jinja2
from jinja2.bccache import Bucket

from perfcore import __version__, files


class CompiledTemplates(jinja2.BytecodeCache):
    """What Jinja2 compiled from the same text with the same `options`. Like modules of Python, templates are not kept
    where Python is told not to, and compiled anew where they cannot be read or written."""

    def __init__(self, options: object) -> None:
        self._options = repr((jinja2.__version__, __version__, options))  # filters of constants are in the code

    def get_cache_key(self, name: str, filename: str | None = None) -> str:
        """The path of the template, which tells where its code is kept."""
        return filename or ""

    def get_source_checksum(self, source: str) -> str:
        """A digest of all that the code depends on."""
        return hashlib.sha256(f"{self._options}\0{source}".encode()).hexdigest()

    def load_bytecode(self, bucket: Bucket) -> None:
        path = _path(bucket.key)
        code = files.cached(path) if path is not None else None
        if code is not None:
            bucket.bytecode_from_string(code)  # which leaves it empty where the checksum is another

    def dump_bytecode(self, bucket: Bucket) -> None:
        path = _path(bucket.key)
        if path is not None and not sys.dont_write_bytecode:
            files.cache(path, bucket.bytecode_to_string())


def _path(template: str) -> Path | None:
    """Where the code of a template is kept; None where it has no file, or Python keeps no code."""
    if not template or sys.implementation.cache_tag is None:
        return None
    return Path(importlib.util.cache_from_source(template))
