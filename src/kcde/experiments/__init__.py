"""Experiments: which methods are fitted to which data, and how they are scored."""
