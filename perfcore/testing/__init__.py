"""The old name of `perfcore_testing`, for tests of plugins that were written before it was a distribution."""

import warnings

try:
    from perfcore_testing import __path__ as __path__
except ImportError as error:
    raise ImportError("perfcore.testing is now in a distribution of its own: pip install perfcore-testing") from error

warnings.warn("perfcore.testing is now perfcore_testing", DeprecationWarning, stacklevel=2)
