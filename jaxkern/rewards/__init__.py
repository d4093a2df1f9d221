"""Results of an evaluation to numbers a policy learns from."""
