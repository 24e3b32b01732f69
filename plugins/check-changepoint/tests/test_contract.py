from perfcore_check_changepoint.contract import ChangepointContract


class TestContract(ChangepointContract):
    """What every check with `scan` does."""
