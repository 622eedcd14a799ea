"""Workings of DDE: deep networks trained against a dual function."""
