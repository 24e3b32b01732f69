"""The collector `sample`: call stacks of a command, looked at many times a second."""

from perfcore_collect_sample.collector import SampleCollector, SampleSettings

__all__ = ["SampleCollector", "SampleSettings"]
