"""Pages in one file, to be opened from disk: the viewer of machines at work, and the report of a run."""
