"""The exact theory: model, relations, rates, floors, joint machines and code counts; one idea a file."""
