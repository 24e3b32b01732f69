"""`perf import` and `perf export`: profiles from the files of other tools, and profiles as files."""
