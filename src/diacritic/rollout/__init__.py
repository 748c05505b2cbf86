"""The closed loop: a policy acts, the world answers; exact on finite models, sampled elsewhere."""
