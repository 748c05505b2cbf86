"""Building the documentation: its gallery, its mathematics, its pages."""
