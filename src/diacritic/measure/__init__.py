"""The judge: rates, sufficiency and information content of codes; it never reads a network's insides."""
