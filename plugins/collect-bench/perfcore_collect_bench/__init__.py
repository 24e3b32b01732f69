"""The collector `bench`: the benchmarks of a Python suite, measured inside a process.

Suites import the decorator from here, also where perfcore is not installed: the process that measures them has this
package. So this module needs nothing but the standard library, and the collector is `perfcore_collect_bench.collector`.
"""

from perfcore_collect_bench.decorator import benchmark

__all__ = ["benchmark"]
