from perfcore_postprocess_filter.contract import FilterContract


class TestFilter(FilterContract):
    """Every law of the kind postprocessor."""
