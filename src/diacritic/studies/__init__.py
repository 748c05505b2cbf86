"""Studies: what is trained, how it is judged, and where the paper stands beside it."""
