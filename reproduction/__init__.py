"""The paper: its studies and figures, our results beside them, and what goes beyond it. Not part of the wheel."""
