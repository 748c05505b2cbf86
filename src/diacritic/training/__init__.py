"""How compact policies learn: objectives, learners, and the cohort that trains many runs as one program."""
