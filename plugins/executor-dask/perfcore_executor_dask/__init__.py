"""The executor `dask`: measures plans on the workers of a Dask cluster that exists already."""

from perfcore_executor_dask.driver import DaskExecutor

__all__ = ["DaskExecutor"]
