"""Workings of JDL, JPDL, CME and kernel logistic regression: low-rank bases and solvers."""
