"""Data sets: what they are (`catalogue`), getting them (`fetch`), reading them (`loaders`)."""
