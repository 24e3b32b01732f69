"""`perf show`: profiles of perfcore in a view; and how other commands draw views."""
