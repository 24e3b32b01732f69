"""For authors of plugins: contract tests to inherit from, fakes, and fixtures. Needs pytest."""

import pkgutil
import sys

# Contracts are no test modules, so pytest would report their failures without the values; and processes that
# tests start import from here without needing pytest.
if sys.modules.get("pytest") is not None:
    sys.modules["pytest"].register_assert_rewrite(
        *(f"{__name__}.{module.name}" for module in pkgutil.iter_modules(__path__))
    )
