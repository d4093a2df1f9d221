"""Losses and updates: pure JAX, no input or output."""
