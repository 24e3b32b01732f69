"""The numbers of fields in pprof's profile.proto, and its names of units.

https://github.com/google/pprof/blob/main/proto/profile.proto
"""

from __future__ import annotations

# Profile
SAMPLE_TYPE, SAMPLE, MAPPING, LOCATION, FUNCTION, STRING_TABLE = range(1, 7)
TIME_NANOS, DURATION_NANOS, PERIOD_TYPE, PERIOD, COMMENT, DEFAULT_SAMPLE_TYPE = range(9, 15)
# ValueType
TYPE, UNIT = 1, 2
# Sample
LOCATION_ID, VALUE, LABEL = 1, 2, 3
# Label
KEY, STR, NUM = 1, 2, 3
# Mapping, Location, Function
ID = 1
MAPPING_FILENAME = 5
LOCATION_MAPPING, ADDRESS, LINE = 2, 3, 4
FUNCTION_NAME, SYSTEM_NAME, FILENAME, START_LINE = 2, 3, 4, 5
# Line
FUNCTION_ID, LINE_NUMBER = 1, 2

UNITS = {"ns": "nanoseconds", "us": "microseconds", "ms": "milliseconds", "s": "seconds", "B": "bytes", "": "count"}
"""Our units and those of pprof; others are the same."""
