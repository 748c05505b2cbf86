"""Minimal machines: what they are, how their states are named, and how machines are read and exported."""
