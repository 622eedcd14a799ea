"""The former name of `kcde.data.smoke`."""

from kcde.data.smoke import write_smoke_data

__all__ = ["write_smoke_data"]
