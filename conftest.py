"""What holds for every test, also for those of plugins."""

from hypothesis import HealthCheck, settings

# A busy machine is no failure.
settings.register_profile("perfcore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("perfcore")
