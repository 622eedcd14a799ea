"""Workings of CDO: the reference density, the spectrum and the selection."""
