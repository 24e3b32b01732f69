"""What the commands share that hand options on to another plugin, or write to a file."""
