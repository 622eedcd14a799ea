"""What the rules of the workflow need to know: its configuration, its jobs, what they take."""
