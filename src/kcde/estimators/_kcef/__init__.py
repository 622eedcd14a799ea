"""Workings of KCEF and KEF: score matching in kernel exponential families."""
