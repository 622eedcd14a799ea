"""Arbel and Gretton 2018, Kernel conditional exponential family."""
