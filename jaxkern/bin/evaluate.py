"""Judges kernels: one pair, or a policy's, a model's, a folder's over tasks.

python -m jaxkern.bin.evaluate --reference=ref.py --candidate=cand.py
python -m jaxkern.bin.evaluate --kernels=DIR --kernelbench=CHECKOUT --out=runs/x
python -m jaxkern.bin.evaluate --endpoint=URL/v1 --model=NAME --set=suite ...
python -m jaxkern.bin.evaluate --results=runs/x/results.jsonl --out=runs/y
"""

from absl import flags

from jaxkern import bin as jaxkern_bin
from jaxkern.training import scoring_run as library

F = flags.FLAGS
flags.DEFINE_string("reference", None, "A problem in KernelBench's form.")
flags.DEFINE_string("candidate", None, "A kernel for it; prints one object.")
flags.DEFINE_string("kernelbench", None, "A checkout; else our own tasks.")
flags.DEFINE_string("set", "primer", "Or 'suite', or a file of tasks.")
flags.DEFINE_string("split", "test", "Of our own tasks.")
flags.DEFINE_integer("level", None, "Only this level.")
flags.DEFINE_list("problems", [], "Only these numbers of KernelBench's.")
flags.DEFINE_string("kernels", None, "A folder of kernels.")
flags.DEFINE_string("endpoint", None, "An OpenAI-compatible server, up to /v1.")
flags.DEFINE_string("model", "default", "The server's name of the model.")
flags.DEFINE_string("checkpoint", None, "A run's directory: its policy.")
flags.DEFINE_string("results", None, "results.jsonl, or KernelBench's run.")
flags.DEFINE_string("baseline_file", "", "KernelBench's, for its run.")
flags.DEFINE_string("out", "runs/evaluation", "Results, scores and page.")
flags.DEFINE_enum("device", "cpu", ["cpu", "cuda"], "Runs the kernels.")
flags.DEFINE_integer("samples", 1, "Kernels per task.", lower_bound=1)
flags.DEFINE_list("ks", ["1"], "k of pass@k.")
flags.DEFINE_integer("repetitions", 20, "Timed launches.")
flags.DEFINE_list("baselines", ["eager"], "cuda: eager, torch.compile's modes.")
flags.DEFINE_list("roof", [], "cuda: FLOP/s,bytes/s, e.g. 67e12,4.8e12.")
flags.DEFINE_float("temperature", 0.0, "0 takes the likeliest.")
flags.DEFINE_integer("seed", 0, "Of the sampling.")


def main(_) -> None:
  """One JSON object for a pair; else scores, and where the page lies."""
  timing = {k: F[k].value for k in ("device", "repetitions", "baselines")}
  if F.reference and F.candidate:
    print(library.to_json(library.pair(F.reference, F.candidate, **timing)))
    return
  ks = [int(k) for k in F.ks]
  if F.results:
    made = library.rescore(F.results, F.out, ks, F.level, F.baseline_file)
  else:
    names = ("kernels", "endpoint", "checkpoint", "model", "temperature")
    given = {k: F[k].value for k in (*names, "seed")}
    size = {"samples": F.samples, "ks": ks, "roof": [*map(float, F.roof)]}
    both = {"samples": F.samples, "python": bool(F.kernelbench)}
    writer = library.choose_writer(**given, **both)
    numbers = [int(k) for k in F.problems]
    items = library.select(F.kernelbench, F.split, F.level, numbers, F.set)
    size["origin"] = given | {"kernelbench": F.kernelbench, "set": F.set}
    made = library.evaluate(items, writer, F.out, **size, **timing)
  print(f"{library.table(made)}\n{F.out}/evaluation.html")


if __name__ == "__main__":
  jaxkern_bin.run(main)
