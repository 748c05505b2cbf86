"""Datasets with certified answers, and how often `need` gives them."""
