"""Configuration: its layers, the options of plugins, YAML documents, and what the user trusts."""
