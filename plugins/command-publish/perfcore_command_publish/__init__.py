"""`perf publish`: the pages of a history as a folder for any web server."""
