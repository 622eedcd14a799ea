"""Workings of Gaussian process regression."""
