"""Selection of the columns on which a joint density is estimated."""

from kcde.data.loaders import removed_columns, removed_from

__all__ = ["removed_columns", "removed_from"]
