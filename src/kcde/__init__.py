"""Kernel conditional density estimation: four papers, one workflow."""

__version__ = "0.1.0"
