"""What a profile is made of, and how it becomes bytes: tables and columns, recording, encoding, old row forms."""
