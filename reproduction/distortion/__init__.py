"""What fewer bits than required can still reproduce: the paper's frontiers of rate and distortion, and ours."""
