"""The optional methods of VCS drivers, built from the required ones."""
