"""What carries the memory: the sole-carrier cell and its controls."""
