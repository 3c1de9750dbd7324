"""The Lie Access Neural Turing Machine."""

__version__ = "0.1.0"
