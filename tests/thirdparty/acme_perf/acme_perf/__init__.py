"""How ACME measures."""
