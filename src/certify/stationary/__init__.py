"""Answers for every horizon: a finite world and a finite expert without a last step."""
