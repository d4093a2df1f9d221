"""Kernels from kernels, without a model: edits of CUDA C++ by its syntax."""
