"""Makes a kernel faster, remembering every attempt.

python -m jaxkern.bin.optimize --task=mlp_swiglu_f32
python -m jaxkern.bin.optimize --bundle=softmax --kernel=mine.cu
python -m jaxkern.bin.optimize --task=reference.py --kernel=mine.cu
python -m jaxkern.bin.optimize --task=softmax_f16 --device=cuda \
  --endpoint=http://localhost:8000/v1 --model=NAME
python -m jaxkern.bin.optimize --task=softmax --checkpoint=runs/demo

The same command goes on where it was stopped. docs/kope.md says how it works.
"""

import pathlib

from absl import flags

from jaxkern import bin as jaxkern_bin
from jaxkern.agent import arms, choose, session
from jaxkern.agent.graph import Graph
from jaxkern.agent.settings import Budget, Settings
from jaxkern.training import proposers

_TASK = flags.DEFINE_string("task", None, "A name, or a file of a task.")
_BUNDLE = flags.DEFINE_string("bundle", None, "Or a problem bundle.")
_KERNEL = flags.DEFINE_string(
  "kernel", None, "Your own .cu to begin with; speedups are over it."
)
_DEVICE = flags.DEFINE_enum("device", "cpu", ["cpu", "cuda"], "Runs it.")
_GRAPH = flags.DEFINE_string(
  "graph", "runs/experience.db", "Experience: read, and written."
)
_WORKDIR = flags.DEFINE_string("workdir", None, "Results; runs/optimize/...")
_SESSION = flags.DEFINE_string("session", None, "A name, to go on or not.")
_ENDPOINT = flags.DEFINE_string(
  "endpoint", None, "OpenAI-compatible; the key is in $OPENAI_API_KEY."
)
_MODEL = flags.DEFINE_string("model", None, "The endpoint's model.")
_CHECKPOINT = flags.DEFINE_string("checkpoint", None, "Or a jaxkern run's.")
_WINDOW = flags.DEFINE_integer("window", 16384, "Tokens the model can see.")
_ARM = flags.DEFINE_enum("arm", "active", arms.ARMS, "What the model is shown.")
_EVALUATIONS = flags.DEFINE_integer(
  "evaluations", 40, "Kernels to try; 0: any."
)
_SECONDS = flags.DEFINE_float("seconds", 0, "Stop after; 0: never.")
_TOKENS = flags.DEFINE_integer("tokens", 0, "Stop after; 0: never.")
_PARALLEL = flags.DEFINE_integer("parallel", 4, "Proposals at once.")
_REPETITIONS = flags.DEFINE_integer("repetitions", 30, "Timed launches.")
_SEMANTIC = flags.DEFINE_bool("semantic", True, "Use an installed embedder.")
_SEED = flags.DEFINE_integer("seed", 0, "Of the search.")


def main(_) -> None:
  """Searches, and says where the results are."""
  kernel = pathlib.Path(_KERNEL.value).read_text() if _KERNEL.value else ""
  name = _TASK.value or _BUNDLE.value or ""
  key = f"{pathlib.Path(name).stem}-{_DEVICE.value}"
  workdir = _WORKDIR.value or f"runs/optimize/{_SESSION.value or key}"
  subject = choose.subject(_TASK.value, _BUNDLE.value, kernel, workdir)
  if _CHECKPOINT.value:
    proposer = proposers.of_checkpoint(_CHECKPOINT.value, _PARALLEL.value)
  else:
    proposer = choose.proposer(_ENDPOINT.value, _MODEL.value, _WINDOW.value)
  settings = Settings(
    session=_SESSION.value or f"{workdir}-{_SEED.value}",
    device=_DEVICE.value,
    arm=_ARM.value,
    parallel=_PARALLEL.value,
    repetitions=_REPETITIONS.value,
    seed=_SEED.value,
    provenance=choose.provenance(proposer, _ARM.value, _SEED.value),
  )
  budget = Budget(_EVALUATIONS.value, _TOKENS.value, _SECONDS.value)
  pathlib.Path(_GRAPH.value).parent.mkdir(parents=True, exist_ok=True)
  with Graph(_GRAPH.value) as graph:
    what = choose.identity(subject, settings.device)
    session.check_session(graph, settings.session, what)
    done = session.run(
      subject,
      proposer,
      graph,
      workdir,
      settings,
      budget,
      semantic=_SEMANTIC.value,
    )
  print(f"{done['speedup']:.2f}x: {done['strategy']}; {done['stopped']}")
  for text in done["learnt"][-1:]:
    print(f"learnt: {text}")
  for file in ("best.cu", "best.diff", "report.html"):
    print(f"{workdir}/{file}")


if __name__ == "__main__":
  jaxkern_bin.run(main)
