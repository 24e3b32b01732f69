"""Selection of profiles to compare, verdicts, and their reports."""
