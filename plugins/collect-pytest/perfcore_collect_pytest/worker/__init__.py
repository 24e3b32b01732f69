"""The process that measures: pytest with the plugin, under any Python from 3.10 on that has pytest."""
