"""`perf config`: reads, changes and trusts the configuration."""
