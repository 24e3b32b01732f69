"""Commands that collectors run: found and checked before they start, their ends put into words."""
