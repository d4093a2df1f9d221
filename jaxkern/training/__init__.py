"""Loops: supervised training, reinforcement, evaluation, whole runs."""
