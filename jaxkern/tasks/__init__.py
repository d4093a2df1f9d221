"""What to write a kernel for."""
