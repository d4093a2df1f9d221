"""KOPE: kernels are optimised, and what was tried is remembered."""
