"""Faults, one after the other, and how many of each were survived: `python -m benchmarks.reliability`."""
