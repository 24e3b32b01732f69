"""What storages elsewhere, and the commands that copy, check and clean them, share: the rules of keys, and sets."""
