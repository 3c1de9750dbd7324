"""The paper's pictures of a machine at work, drawn with matplotlib: keys, gates, the answer, and videos of training."""
