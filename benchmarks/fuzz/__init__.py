"""Continuous fuzzing: files, arguments, texts and modules that are nearly right; `make fuzz MINUTES=30`."""
