from perfcore_postprocess_normalizer.contract import NormalizerContract


class TestNormalizer(NormalizerContract):
    """Every law of the kind postprocessor."""
