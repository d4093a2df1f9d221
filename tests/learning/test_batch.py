import numpy as np

from jaxkern.learning.batch import Batch, pad_rows, shard


def rows(count):
  tokens = np.arange(1, 2 * count + 1, dtype=np.int32).reshape(count, 2)
  mask = np.ones((count, 2), np.float32)
  return Batch(tokens, mask, tokens, mask, advantages=mask[:, 0])


def test_padding_rows_are_zeros():
  padded = pad_rows(rows(3), 4)
  np.testing.assert_array_equal(padded.tokens, [[1, 2], [3, 4], [5, 6], [0, 0]])
  np.testing.assert_array_equal(padded.advantages, [1, 1, 1, 0])
  assert padded.tokens.dtype == np.int32
  assert padded.old_log_probs is None


def test_a_whole_batch_is_not_padded():
  assert len(pad_rows(rows(4), 4).tokens) == 4


def test_shards_keep_the_order_of_rows():
  sharded = shard(rows(3), devices=2)
  np.testing.assert_array_equal(
    sharded.tokens, [[[1, 2], [3, 4]], [[5, 6], [0, 0]]]
  )


def test_every_device_gets_whole_microbatches():
  assert shard(rows(5), devices=2, microbatch=2).tokens.shape == (2, 4, 2)


def test_numbers_of_microbatches_are_few():
  sizes = [shard(rows(n), 2, 2).tokens.shape[1] // 2 for n in range(1, 260)]
  assert sorted(set(sizes)) == [
    *range(1, 9),
    *(10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80),
  ]
  for n, size in enumerate(sizes, 1):
    assert n <= 4 * size < 1.25 * n + 4
