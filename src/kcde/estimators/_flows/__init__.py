"""Workings of the conditional normalising flows."""
