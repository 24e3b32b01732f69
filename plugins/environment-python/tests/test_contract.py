from perfcore_environment_python.contract import CommandContract, CondaContract, UvContract, VenvContract


class TestVenv(VenvContract):
    """Every law of the kind environment."""


class TestUv(UvContract):
    """The same of uv."""


class TestConda(CondaContract):
    """The same of conda."""


class TestCommand(CommandContract):
    """The same of a command."""
