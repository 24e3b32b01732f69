"""The numbers of fields of OpenTelemetry's profiles, version v1development.

https://github.com/open-telemetry/opentelemetry-proto/blob/main/opentelemetry/proto/profiles/v1development/profiles.proto
"""

from __future__ import annotations

# ProfilesData, and the request by which profiles are exported
RESOURCE_PROFILES, DICTIONARY = 1, 2
# ProfilesDictionary
MAPPINGS, LOCATIONS, FUNCTIONS, LINKS, STRINGS, ATTRIBUTES, STACKS = range(1, 8)
# ResourceProfiles, Resource, ScopeProfiles
RESOURCE, SCOPE_PROFILES = 1, 2
RESOURCE_ATTRIBUTES = 1
PROFILES = 2
# Profile
SAMPLE_TYPE, SAMPLES, TIME, DURATION, PERIOD_TYPE, PERIOD, PROFILE_ID = range(1, 8)
# ValueType
TYPE, UNIT = 1, 2
# Sample
STACK, SAMPLE_ATTRIBUTES, VALUES, TIMESTAMPS = 1, 2, 4, 5
# Stack, Location, Line
STACK_LOCATIONS = 1
LOCATION_MAPPING, ADDRESS, LINES = 1, 2, 3
LINE_FUNCTION, LINE_NUMBER = 1, 2
# Mapping, Function
MAPPING_FILENAME = 4
FUNCTION_NAME, SYSTEM_NAME, FILENAME, START_LINE = range(1, 5)
# KeyValueAndUnit, whose key is a text of the dictionary, and KeyValue, whose key may be one or stand there
KEY, VALUE = 1, 2
KEY_TEXT = 3
# AnyValue
STRING_VALUE, BOOL_VALUE, INT_VALUE, STRING_INDEX = 1, 2, 3, 8
