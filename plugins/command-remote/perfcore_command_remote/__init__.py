"""Sharing of profiles: a store is copied to another place, and joined with what is there."""
