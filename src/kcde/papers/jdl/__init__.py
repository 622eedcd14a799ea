"""Filipovic, Multerer, Schneider 2024, Adaptive joint distribution learning."""
