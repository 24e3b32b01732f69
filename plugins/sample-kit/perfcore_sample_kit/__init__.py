"""Samples of call stacks with times, threads and metrics."""

from perfcore_sample_kit.gzipped import contents, start_of
from perfcore_sample_kit.parts import Origin, Part, parts
from perfcore_sample_kit.recorder import SampleRecorder
from perfcore_sample_kit.samples import Samples, Track

__all__ = ["Origin", "Part", "SampleRecorder", "Samples", "Track", "contents", "parts", "start_of"]
