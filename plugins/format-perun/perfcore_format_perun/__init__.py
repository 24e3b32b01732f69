"""Perun's files and stores, read into perfcore."""
