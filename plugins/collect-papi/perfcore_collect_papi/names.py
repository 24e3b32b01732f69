"""Names that are the same wherever PAPI is, for those who must not load it."""

PERF_EVENT = "perf_event"
DEFAULT_EVENTS = ("PAPI_TOT_INS", "PAPI_TOT_CYC", "PAPI_BR_INS", "PAPI_BR_MSP")
# A CPU that libpfm4 does not know counts these all the same when it is taken for one that it knows: their codes are
# those of the architecture. Other events would count something else.
ARCHITECTURAL = DEFAULT_EVENTS
FORCED = {"GenuineIntel": "skl", "AuthenticAMD": "amd64_fam17h_zen2"}
