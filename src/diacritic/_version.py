"""The version of the package, alone so that every room can read it."""

__version__ = "0.1.0"
