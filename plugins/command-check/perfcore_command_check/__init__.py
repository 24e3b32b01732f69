"""`perf check`: which versions became slower or faster, as a table, in reports and through notifiers."""
