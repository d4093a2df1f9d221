"""Of convolutions, pooling and layouts: one channel at a time."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy import ndimage, signal


def _filtered(x, k, one):
  """sum_c one(x[b, c], k[f, c])."""
  return np.stack(
    [np.stack([sum(map(one, image, filters)) for filters in k]) for image in x]
  )


def _same(x, k):
  return ndimage.correlate(x, k, mode="constant")


def conv1d(x, k):
  return _filtered(x, k, lambda u, w: np.correlate(u, w, "valid"))


def causal_depthwise_conv1d(x, k, n):
  y = np.zeros_like(x)
  for b, c in np.ndindex(len(x), x.shape[2]):
    y[b, :, c] = np.convolve(x[b, :, c], k[::-1, c])[:n]
  return y


def conv1d_transpose(x, k, n, m):
  spread = np.zeros((*x.shape[:2], 2 * n - 1))
  spread[..., ::2] = x
  return _filtered(spread, np.swapaxes(k, 0, 1), np.convolve)


def conv2d(x, k):
  return _filtered(x, k, _same)


def conv2d_strided(x, k):
  return conv2d(x, k)[..., ::2, ::2]


def conv2d_dilated(x, k):
  spread = np.zeros((*k.shape[:2], 5, 5))
  spread[..., ::2, ::2] = k
  return conv2d(x, spread)


def conv2d_5x5(x, k):
  return _filtered(
    x, k, lambda u, w: signal.convolve2d(u, w[::-1, ::-1], mode="same")
  )


def conv2d_pointwise(x, k):
  return np.moveaxis(np.tensordot(k, x, axes=(1, 1)), 0, 1)


def conv2d_depthwise(x, k):
  return np.stack([np.stack(list(map(_same, image, k))) for image in x])


def conv3d(x, k):
  return _filtered(
    x, k, lambda u, w: signal.correlate(u, w, "valid", method="direct")
  )


def conv2d_transpose(x, k):
  return _filtered(x, np.swapaxes(k, 0, 1), np.kron)


def conv2d_bias_relu(x, k, bias):
  return np.maximum(conv2d(x, k) + bias.reshape(-1, 1, 1), 0)


def conv2d_norm_silu(x, k, g, bias):
  y = conv2d(x, k) * g.reshape(-1, 1, 1) + bias.reshape(-1, 1, 1)
  return y / (1 + np.exp(-y))


def residual_conv2d(x, k, g):
  return np.maximum(conv2d(x, k * g.reshape(-1, 1, 1, 1)) + x, 0)


def separable_conv2d(x, u, k):
  return conv2d_pointwise(np.maximum(conv2d_depthwise(x, u), 0), k)


def patch_embedding(x, k, bias, position, patch, w):
  y = np.zeros((len(x), len(position), len(k)))
  for b, at, f in np.ndindex(y.shape):
    r, t = (patch * v for v in divmod(at, w // patch))
    seen = x[b, :, r : r + patch, t : t + patch]
    y[b, at, f] = (seen * k[f]).sum() + bias[f] + position[at, f]
  return y


def _windows(x, of):
  y = np.zeros((*x.shape[:2], x.shape[2] // 2, x.shape[3] // 2))
  for b, c, r, t in np.ndindex(y.shape):
    y[b, c, r, t] = of(x[b, c, 2 * r : 2 * r + 2, 2 * t : 2 * t + 2])
  return y


def max_pool2d(x):
  return _windows(x, np.max)


def average_pool2d(x):
  return _windows(x, lambda v: v.sum() / 4)


def global_average_pool(x):
  return _sums(x) / (x.shape[2] * x.shape[3])


def _sums(x):
  return np.array([[image.sum() for image in images] for images in x])


def bilinear_upsample(x, oh, ow):
  at = np.meshgrid(
    (np.arange(oh) - 0.5) / 2, (np.arange(ow) - 0.5) / 2, indexing="ij"
  )
  # Half a pixel: (r + 0.5) / 2 - 0.5 = (r - 0.5) / 2.
  return np.stack(
    [
      [
        ndimage.map_coordinates(image, at, order=1, mode="nearest")
        for image in images
      ]
      for images in x
    ]
  )


def nearest_upsample(x):
  return np.kron(x, np.ones((1, 1, 2, 2)))


def max_pool2d_backward(x, dy):
  dx = np.zeros_like(x)
  for b, c, r, t in np.ndindex(dy.shape):
    window = x[b, c, 2 * r : 2 * r + 2, 2 * t : 2 * t + 2]
    u, v = divmod(int(window.argmax()), 2)
    dx[b, c, 2 * r + u, 2 * t + v] = dy[b, c, r, t]
  return dx


def pixel_shuffle(x, oh, ow):
  y = np.zeros((len(x), oh, ow))
  for b, r, t in np.ndindex(y.shape):
    y[b, r, t] = x[b, r % 2 * 2 + t % 2, r // 2, t // 2]
  return y


def image_to_columns(x):
  return np.transpose(sliding_window_view(x, (3, 3), (1, 2)), (1, 2, 0, 3, 4))


def channels_last(x):
  return np.stack([np.dstack(list(image)) for image in x])
