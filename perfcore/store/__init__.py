"""The formats of `.perf` and what is done with them: objects, indexes, pending profiles, notes, garbage.

Nothing here knows where the bytes are kept; that is the storage's business.
"""
