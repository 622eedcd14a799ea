"""Modules that a library imports and a process may never use, imported on first use instead."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType


class _Later(ModuleType):
    """Stands in for a module until something of it is asked for."""

    def __getattr__(self, name: str):
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


@contextmanager
def later(*names: str) -> Iterator[None]:
    """Let `import name` within the block bind a stand-in, which imports the module on first use.

    Who imports the module after the block gets the module itself. One that is imported already
    stays as it is.
    """
    put = {name: _Later(name) for name in names if name not in sys.modules}
    sys.modules.update(put)
    try:
        yield
    finally:
        for name, stand_in in put.items():
            if sys.modules.get(name) is stand_in:
                del sys.modules[name]
