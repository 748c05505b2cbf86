"""Beyond the paper: forgetting what is not needed, and the certified learner."""
