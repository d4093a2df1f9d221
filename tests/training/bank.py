"""A policy that writes kernels out of a bank: real verdicts, at once.

Which one is drawn depends on the row's key alone; its probabilities are a small
decoder's, so that there is something to train.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxkern import models
from jaxkern.models.policy import Sampled
from jaxkern.rollout.collect import Sampler
from jaxkern.tasks import suite
from jaxkern.tokenizer import Tokenizer

RIGHT = suite.get("relu").baseline
WRONG = RIGHT.replace("fmaxf(v, 0.0f)", "fmaxf(v, 1.0f)")
BROKEN = RIGHT.replace("float v", "float w")
# Minutes of work for a compiler, on little memory.
SLOW = (
  "constexpr unsigned f(unsigned n) { unsigned s = n;"
  " for (int i = 0; i < 200000; ++i) s = s * 5 + i; return s; }\n"
  "template <int n> struct F { enum : unsigned { v = f(n) + F<n - 1>::v }; };\n"
  "template <> struct F<0> { enum : unsigned { v = 0 }; };\n"
  + RIGHT.replace("count = n", "count = n + 0 * F<800>::v")
)


def distinct(source, count):
  """So many kernels that do the same and are built apart."""
  return [source.replace("256", str(32 * (i + 1))) for i in range(count)]


def make_sampler(sources, rows=8):
  """A sampler whose policy draws one of these sources."""
  tokenizer = Tokenizer.train(sources, 400)
  ids = [[*tokenizer.encode(s), tokenizer.end_id] for s in sources]
  length = max(map(len, ids))
  policy = models.make(
    dict(
      width=8, layers=1, heads=1, kv_heads=1, hidden=8, max_new_tokens=length
    ),
    vocab_size=tokenizer.vocab_size,
    end_id=tokenizer.end_id,
    pad_id=tokenizer.pad_id,
  )
  tokens = np.full((len(ids), length), tokenizer.pad_id, np.int32)
  mask = np.zeros((len(ids), length), np.float32)
  for row, text in enumerate(ids):
    tokens[row, : len(text)] = text
    mask[row, : len(text)] = 1

  def sample(params, keys, prompts, prompt_mask, temperature, samples=1):
    """See `Policy.sample`."""
    prompts, prompt_mask = (
      np.repeat(x, samples, axis=0) for x in (prompts, prompt_mask)
    )
    drawn = jax.vmap(lambda k: jax.random.randint(k, (), 0, len(ids)))(keys)
    rows = jnp.asarray(tokens)[drawn], jnp.asarray(mask)[drawn]
    log_probs = policy.log_probs(
      params, prompts, prompt_mask, *rows, (), temperature
    )
    return Sampled(*rows, log_probs, ())

  params = policy.init(jax.random.key(0))
  policy = policy._replace(sample=sample, stream=None)
  return Sampler(policy, params, tokenizer, (64, 512), rows, 1.0)
