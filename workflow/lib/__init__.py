"""The Python of the workflow: its configuration, its jobs and what they need."""
