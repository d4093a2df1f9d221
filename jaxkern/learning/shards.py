"""Optimiser state spread over pmapped devices: each holds and updates a part.

A leaf of n numbers is flattened and padded with zeros to N parts of equal
length k, which keep its rank: [k, 1, ...]; what is told by rank, such as that
only matrices decay, stays true. A scalar has no parts; it is whole everywhere.

Fixed letters: N devices, n numbers of a leaf, k = ceil(n / N).
"""

import dataclasses
import math
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Shards:
  """A tree in parts.

  Attributes:
    tree: leaves [N, k, 1, ...], or [k, 1, ...] on one of the devices.
    shapes: of the whole leaves, in the tree's order.
  """

  tree: Any
  shapes: tuple[tuple[int, ...], ...] = dataclasses.field(
    metadata={"static": True}
  )


def split(tree: Any, devices: int) -> Shards:
  """A whole tree's parts, on the host."""

  def parts(x):
    """Leaf [...] to [N, k, 1, ...]."""
    x = np.asarray(x)
    if not x.ndim:
      return np.broadcast_to(x, (devices,))
    shape = _part(x.shape, devices)
    flat = np.zeros(devices * shape[0], x.dtype)
    flat[: x.size] = x.reshape(-1)
    return flat.reshape(devices, *shape)

  shapes = tuple(np.shape(x) for x in jax.tree.leaves(tree))
  return Shards(jax.tree.map(parts, tree), shapes)


def join(shards: Shards) -> Any:
  """The whole tree, on the host, of however many parts."""
  leaves, structure = jax.tree.flatten(shards.tree)
  whole = [
    np.asarray(x).reshape(-1)[: math.prod(shape)].reshape(shape)
    for x, shape in zip(leaves, shards.shapes, strict=True)
  ]
  return jax.tree.unflatten(structure, whole)


def scatter(tree: Any, axis: str) -> Any:
  """This device's parts of the sum over devices."""

  def part(x):
    """This device's part of a leaf's sum over devices."""
    if not x.ndim:
      return jax.lax.psum(x, axis)
    flat, shape = _padded(x, axis)
    return jax.lax.psum_scatter(flat, axis, tiled=True).reshape(shape)

  return jax.tree.map(part, tree)


def own(tree: Any, axis: str) -> Any:
  """This device's parts of a tree that is whole on each."""

  def part(x):
    """This device's part of a leaf."""
    if not x.ndim:
      return x
    flat, shape = _padded(x, axis)
    start = jax.lax.axis_index(axis) * shape[0]
    return jax.lax.dynamic_slice_in_dim(flat, start, shape[0]).reshape(shape)

  return jax.tree.map(part, tree)


def gather(parts: Any, like: Any, axis: str) -> Any:
  """The whole tree, with the shapes of `like`, on every device."""

  def whole(x, y):
    if not y.ndim:
      return x
    flat = jax.lax.all_gather(x.reshape(-1), axis, tiled=True)
    return flat[: y.size].reshape(y.shape)

  return jax.tree.map(whole, parts, like)


def norm(parts: Any, axis: str) -> chex.Array:
  """The Euclidean norm of the whole tree, from every device's parts."""
  zero = jnp.zeros(())
  split, whole = zero, zero
  for x in jax.tree.leaves(parts):
    square = jnp.sum(jnp.square(x.astype(jnp.float32)))
    split, whole = (
      (split + square, whole) if x.ndim else (split, whole + square)
    )
  return jnp.sqrt(jax.lax.psum(split, axis) + whole)


def _padded(x: chex.Array, axis: str) -> tuple[chex.Array, tuple[int, ...]]:
  """Flat x with zeros up to N k numbers, and the shape of a part."""
  devices = jax.lax.axis_size(axis)
  shape = _part(x.shape, devices)
  return jnp.pad(x.reshape(-1), (0, devices * shape[0] - x.size)), shape


def _part(shape: tuple[int, ...], devices: int) -> tuple[int, ...]:
  return (-(-math.prod(shape) // devices), *[1] * (len(shape) - 1))
