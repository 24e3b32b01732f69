"""Whether the answer was measured now, or is what stored profiles say alone.

Of many stored versions, the one that looks most like the change is the one that chance favoured most. What made its
runs deviate may have lasted as long as it was measured; runs of now do not share that.
"""

from __future__ import annotations

from perfcore_command_bisect.information import runs_of_end
from perfcore_command_bisect.journal import Journal
from perfcore_command_bisect.search import FIRST_RUNS, Belief, Measurement, answer


def missing(journal: Journal, belief: Belief) -> Measurement | None:
    """Runs of the likeliest version, or of the one before it, if only stored profiles know it; None where both were
    measured, or nothing is stored of them."""
    question = journal.question
    suspects, last = answer(question, belief).places, question.places - 1
    before = max(index for index in range(suspects[0]) if index == 0 or index not in question.broken)
    stored, fresh = {reading.version for reading in journal.readings if reading.stored}, journal.fresh_runs
    for place in (suspects[-1], before):
        version = journal.versions[place]
        times = FIRST_RUNS - fresh[version]
        if place not in (0, last) and place not in question.broken and version in stored and times > 0:
            end = 0 if belief.runs[0] <= belief.runs[1] else last
            return Measurement(place, times, end, runs_of_end(times, belief.drifts))
    return None
