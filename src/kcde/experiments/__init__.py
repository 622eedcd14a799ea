"""What is fitted on what, returning scores."""
