"""What a learner minimises: one short file a term, each a frozen dataclass with its formula."""
