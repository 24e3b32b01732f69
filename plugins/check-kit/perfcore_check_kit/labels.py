"""What commands are called: below the root of the tree by their folder, too."""

from __future__ import annotations


def in_folder(label: str) -> tuple[str, str]:
    """The folder of a command and the command as it was typed: `svc/one` and `./run` of `svc/one: ./run`. A folder with
    a blank cannot be told from a command of the shell, and is left in the command."""
    folder, _, typed = label.partition(": ")
    return (folder, typed) if typed and folder == "".join(folder.split()) else ("", label)
