"""One file a command: a frozen dataclass with `run`, listed by name in the module's `COMMANDS`."""
