"""The pages of a performance history: their data, their addresses and their one renderer."""
