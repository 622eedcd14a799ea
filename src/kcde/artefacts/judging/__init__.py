"""Published against ours: verdicts, causes, claims and the scorecard."""
