"""Comparison with the papers: verdicts, causes, claims and the scorecard."""
