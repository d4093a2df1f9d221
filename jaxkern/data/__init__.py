"""Corpora of kernels: generated, verified, curated."""
