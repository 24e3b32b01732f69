"""The process that measures a suite. It runs under any Python from 3.10 on, and imports only the standard library, so
that nothing but the project and its benchmarks is in the process."""
