"""PAPI itself, as python_papi brings it: components, events, event sets.

python_papi binds a part of PAPI only. What it leaves out (inheriting, attaching to a CPU, the domain of one set,
threads) is called by ctypes in the same library, which has one state for both.

The order within a set matters: the component, multiplexing, the domain, **inherit before CPU**, and the events last.
PAPI refuses the reverse of the two, and counts 0 where events were added before inherit.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs

from perfcore_collect_papi.failure import ECNFLCT, ENOEVNT, PapiFailure
from perfcore_collect_papi.names import PERF_EVENT
from perfcore_collect_papi.software import open_files

LONGEST = 500  # bytes of an event's name
_VERSION = 0x06000000
_OPT_DOMAIN, _OPT_CPU_ATTACH, _OPT_INHERIT = 5, 27, 28  # options of PAPI_set_opt in papi.h
_USER, _KERNEL = 1, 2  # PAPI_DOM_USER and PAPI_DOM_KERNEL
_PRESET, _PRESETS = -(1 << 31), 128  # the code of the first, and how many there can be
_NATIVE, _FIRST, _NEXT = 1 << 30, 1, 0


@attrs.frozen(kw_only=True)
class Component:
    """A part of PAPI that counts something. `disabled` is PAPI's code, 0 where it can be used."""

    index: int
    name: str
    disabled: int
    reason: str
    pmus: tuple[str, ...]

    @property
    def counts_cpus(self) -> bool:
        """Whether its sets can be inherited and attached to CPUs, and start from 0."""
        return self.name == PERF_EVENT


@attrs.frozen(kw_only=True)
class Event:
    """An event by name. `available` is False for a preset that is made of no event of this CPU."""

    name: str
    description: str
    units: str
    component: str
    preset: bool
    available: bool


class EventSet:
    """One set of events of one component. Values are those since the start or reset, also where PAPI zeroes nothing:
    components that count from the start of the process, and inherited counters, of which the kernel zeroes those of
    living threads and keeps what ended ones added. Of these sets a base is kept and taken off."""

    def __init__(
        self,
        papi: Papi,
        events: Sequence[str],
        *,
        component: int = 0,
        cpu: int | None = None,
        pid: int | None = None,
        inherit: bool = False,
        multiplex: bool = False,
        domain: str = "user",
    ) -> None:
        self.events = tuple(events)
        self.cpu = cpu
        self.pid = pid
        self.inherit = inherit
        self.multiplex = multiplex
        self.domain = domain
        self.source = "papi" if papi.components[component].counts_cpus else "component"
        self.forced = papi.forced
        self.papi_version: str | None = papi.version
        self._process = os.getpid()
        self._papi = papi
        self._lib = papi.lib
        self._values = papi.ffi.new("long long[]", len(self.events))
        self._numbers: Callable[[], list[int]] = memoryview(papi.ffi.buffer(self._values)).cast("q").tolist
        self._rebased = inherit or not papi.components[component].counts_cpus
        self._base = [0] * len(self.events)
        handle = papi.ffi.new("int *", -1)
        self._check(self._lib.PAPI_create_eventset(handle), "cannot make an event set")
        self.handle: int = handle[0]
        try:
            self._configure(component, cpu, pid, inherit, multiplex, domain)
            for event in self.events:
                self._check(self._lib.PAPI_add_named_event(self.handle, _name(event)), event)
        except BaseException:
            self.close()
            raise

    def start(self) -> None:
        """The set counts from 0."""
        code = self._lib.PAPI_start(self.handle)
        if code < 0:
            raise PapiFailure(code, "cannot start to count")
        if self._rebased:
            self._base = self._raw(self._lib.PAPI_read)

    def read(self) -> list[int]:
        return self._since(self._raw(self._lib.PAPI_read))

    def stop(self) -> list[int]:
        """The last reading. Works when the process that was counted is no more."""
        code = self._lib.PAPI_stop(self.handle, self._values)
        if code < 0:
            raise PapiFailure(code, "cannot stop")
        return self._since(self._numbers())

    def reset(self) -> None:
        """Without PAPI's reset where a base is kept: what is counted between that and the base would be lost."""
        if self._rebased:
            self._base = self._raw(self._lib.PAPI_read)
            return
        self._check(self._lib.PAPI_reset(self.handle), "cannot reset")

    def accum(self) -> list[int]:
        """What was counted since the counters were zeroed last; they are zeroed."""
        if self._rebased:
            values = self._raw(self._lib.PAPI_read)
            since, self._base = self._since(values), values
            return since
        for index in range(len(self.events)):
            self._values[index] = 0
        return self._raw(self._lib.PAPI_accum)

    def close(self) -> None:
        """Harmless twice. A set that runs is stopped; not by a fork, whose parent's counters these are."""
        if self.handle < 0 or self._process != os.getpid():
            return
        self._lib.PAPI_stop(self.handle, self._values)
        self._lib.PAPI_cleanup_eventset(self.handle)
        self._lib.PAPI_destroy_eventset(self._papi.ffi.new("int *", self.handle))
        self.handle = -1

    def _configure(
        self, component: int, cpu: int | None, pid: int | None, inherit: bool, multiplex: bool, domain: str
    ) -> None:
        self._check(self._lib.PAPI_assign_eventset_component(self.handle, component), "cannot choose the component")
        if multiplex:
            self._check(self._lib.PAPI_set_multiplex(self.handle), "cannot multiplex")
        if domain == "all":
            self._option(_OPT_DOMAIN, (0, self.handle, _USER | _KERNEL), "cannot count the kernel")
        if inherit:
            self._option(_OPT_INHERIT, (self.handle, 1), "cannot count children")
        if cpu is not None:
            self._option(_OPT_CPU_ATTACH, (self.handle, cpu), f"cannot count on CPU {cpu}")
        if pid is not None:
            self._check(self._lib.PAPI_attach(self.handle, pid), f"cannot attach to the thread {pid}")

    def _option(self, option: int, values: Sequence[int], what: str) -> None:
        """`PAPI_option_t` is a union of structures of ints for what is set here; this is larger than any."""
        buffer = (ctypes.c_int * 512)(*values)
        self._check(self._papi.symbols.PAPI_set_opt(option, buffer), what)

    def _raw(self, call: Any) -> list[int]:
        code = call(self.handle, self._values)
        if code < 0:
            raise PapiFailure(code, "cannot read")
        return self._numbers()

    def _since(self, values: list[int]) -> list[int]:
        return [value - base for value, base in zip(values, self._base, strict=True)] if self._rebased else values

    def _check(self, code: int, what: str) -> None:
        if code < 0:
            raise PapiFailure(code, what)


class Papi:
    """The library, initialized for this process. Use `library()`."""

    def __init__(self) -> None:
        from pypapi import _papi

        self.ffi, self.lib = _papi.ffi, _papi.lib
        self.forced = os.environ.get("LIBPFM_FORCE_PMU", "")
        self.symbols = ctypes.CDLL(_papi.__file__)
        if self.lib.PAPI_is_initialized():  # inherited by fork: what runs in the parent would count as running here
            for file in open_files():  # shared with the parent, whose counters PAPI would stop too
                os.close(file)
            self.lib.PAPI_shutdown()
        code = self.lib.PAPI_library_init(_VERSION)
        if code != _VERSION:
            raise PapiFailure(min(code, -1), "PAPI cannot be initialized")
        identify = ctypes.cast(ctypes.pythonapi.PyThread_get_thread_ident, ctypes.c_void_p)
        self.symbols.PAPI_thread_init(identify)
        self.components = tuple(map(self._component, range(self.lib.PAPI_num_components())))

    @property
    def version(self) -> str:
        """Of the PAPI inside python_papi, as that says; PAPI itself tells the first two numbers only."""
        from pypapi import consts

        return ".".join(str(consts.PAPI_VERSION >> shift & 255) for shift in (24, 16, 8, 0))

    def component_of(self, event: str) -> int:
        """The index of the component that an event belongs to. PapiFailure for a name that none knows."""
        code = self.ffi.new("int *")
        self._check(self.lib.PAPI_event_name_to_code(_name(event), code), event)
        index = self.lib.PAPI_get_event_component(code[0])
        self._check(index, event)
        return int(index)

    def events(self, component: Component) -> Iterator[Event]:
        """Every preset, with the first component, and every native event of a component. A component that is
        disabled lists no native events."""
        for index in range(_PRESETS) if component.index == 0 else ():
            yield from self._event(_PRESET + index, component, preset=True)
        code = self.ffi.new("int *", _NATIVE)
        modifier = _FIRST
        while self.lib.PAPI_enum_cmp_event(code, modifier, component.index) == 0:
            modifier = _NEXT
            yield from self._event(code[0], component, preset=False)

    def _event(self, code: int, component: Component, *, preset: bool) -> Iterator[Event]:
        info = self.ffi.new("PAPI_event_info_t *")
        if self.lib.PAPI_get_event_info(code, info) != 0:
            return
        yield Event(
            name=self._text(info.symbol),
            description=self._text(info.long_descr) or self._text(info.short_descr),
            units=self._text(info.units),
            component=component.name,
            preset=preset,
            available=component.disabled == 0 and (not preset or info.count > 0),
        )

    def _component(self, index: int) -> Component:
        info = self.lib.PAPI_get_component_info(index)
        return Component(
            index=index,
            name=self._text(info.name),
            disabled=int(info.disabled),
            reason=self._text(info.disabled_reason),
            pmus=tuple(self._text(name) for name in info.pmu_names if name),
        )

    def _text(self, characters: Any) -> str:
        text: bytes = self.ffi.string(characters)
        return text.decode(errors="replace")

    def _check(self, code: int, what: str) -> None:
        if code < 0:
            raise PapiFailure(code, what)


def library() -> Papi:
    """The library of this process. ImportError where python_papi is not installed."""
    return _library_of(os.getpid())


@functools.cache
def _library_of(pid: int) -> Papi:
    return Papi()


def _name(event: str) -> bytes:
    """PAPI copies a name into a buffer without a look at its length."""
    name = event.encode(errors="replace")
    if len(name) > LONGEST or b"\0" in name:
        raise PapiFailure(ENOEVNT, f"{name[:60]!r}")
    return name


def codes(events: Sequence[str], component: int, **options: Any) -> dict[str, int]:
    """What PAPI says to each event when it is added to those before it that could be: 0, or its code. One that can
    be counted alone does not fit (PAPI_ECNFLCT), whatever the kernel called it."""
    return_codes: dict[str, int] = {}
    for event in events:
        accepted = [accepted_event for accepted_event, code in return_codes.items() if code == 0]
        return_codes[event] = _code([*accepted, event], component, options)
        if return_codes[event] and accepted:
            return_codes[event] = _code([event], component, options) or ECNFLCT
    return return_codes


def _code(events: Sequence[str], component: int, options: dict[str, Any]) -> int:
    try:
        EventSet(library(), events, component=component, **options).close()
    except PapiFailure as error:
        return error.code
    return 0
