"""Workings of LSCDE as a popular Python package has it."""
