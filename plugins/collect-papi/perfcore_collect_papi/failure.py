"""What PAPI says when it fails: its negative codes, their names, and what to do about them."""

from __future__ import annotations

from perfcore.errors import PerfError

EINVAL, ENOMEM, ESYS, ECMP, ECLOST, EBUG, ENOEVNT, ECNFLCT, ENOTRUN, EISRUN, ENOEVST = range(-1, -12, -1)
ENOTPRESET, ENOCNTR, EMISC, EPERM, ENOINIT, ENOCMP, ENOSUPP, ENOIMPL, EBUF, EINVAL_DOM = range(-12, -22, -1)
EATTR, ECOUNT, ECOMBO, ECMP_DISABLED = range(-22, -26, -1)

_NAMES = {code: f"PAPI_{name}" for name, code in globals().copy().items() if name.isupper() and isinstance(code, int)}
_ADVICE = {
    EINVAL: "an argument is not what PAPI expects here",
    ENOEVNT: "this machine does not have the event",
    ECNFLCT: "the events do not fit together; count fewer at a time, or multiplex them",
    ENOTRUN: "start the event set first",
    EISRUN: "stop the event set first; a thread has one running set for each component",
    ENOEVST: "start the event set in this store first",
    EPERM: "the kernel refuses: see kernel.perf_event_paranoid, and the security profile of the container",
    EINVAL_DOM: "only root may count the kernel where kernel.perf_event_paranoid is 2 or more",
    ECMP_DISABLED: "the component of the event cannot be used on this machine",
}


def name_of(code: int) -> str:
    """`PAPI_ENOEVNT` for -7."""
    return _NAMES.get(code, f"PAPI error {code}")


class PapiFailure(PerfError):  # noqa: N818  (the word of its specification)
    """A call that failed, with PAPI's own negative `code` and its `name`; `hint` is what to do about it."""

    exit_code = 5

    def __init__(self, code: int, what: str, *, hint: str | None = None) -> None:
        self.code = code
        self.name = name_of(code)
        super().__init__(f"{what}: {self.name} ({code})", hint=hint or _ADVICE.get(code))
