"""Matplotlib plots of a machine at work, as in the paper (keys, gates, answer), and videos of training."""
