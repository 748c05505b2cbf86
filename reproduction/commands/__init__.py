"""Commands of `python -m reproduction`, each a frozen dataclass whose fields are the options."""
