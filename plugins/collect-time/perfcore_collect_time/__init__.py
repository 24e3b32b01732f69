"""The collector `time`: how long a command takes, per run and trustworthy."""

from perfcore_collect_time.collector import TimeCollector, TimeSettings

__all__ = ["TimeCollector", "TimeSettings"]
