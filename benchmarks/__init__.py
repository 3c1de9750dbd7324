"""Benchmarks: ours beside the alternatives, in one run. `make bench` runs them all."""
