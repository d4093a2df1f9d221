"""Teaching models to write fast GPU kernels."""
