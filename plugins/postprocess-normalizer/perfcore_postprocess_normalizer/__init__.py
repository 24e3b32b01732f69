"""The postprocessor `normalizer` of perfcore: amounts as proportions, or in another unit."""

from perfcore_postprocess_normalizer.driver import Normalizer, NormalizerSettings

__all__ = ["Normalizer", "NormalizerSettings"]
