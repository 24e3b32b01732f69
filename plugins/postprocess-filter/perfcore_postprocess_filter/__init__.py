"""The postprocessor `filter` of perfcore: keeps or drops rows of a profile."""

from perfcore_postprocess_filter.driver import Filter, FilterSettings

__all__ = ["Filter", "FilterSettings"]
