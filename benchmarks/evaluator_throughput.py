"""Candidates per second, and what they wait for.

  python benchmarks/evaluator_throughput.py --device=cpu --form=native

Distinct right candidates of 16 tasks, none seen before and all submitted at
once: compiled, run on all cases of their task, timed to the protocol
(--repetitions=0: not timed) and compared. The tasks' baselines, which are built
once for as long as the cache lives, are there before (`baselines_s`), for the
rival, too. In the same run:

- the same again from the cache;
- with fewer cores (--cores=1,2,4: this process, its compilers and workers are
  kept to them), to see where it bends;
- a template bomb on all cores but one (--bomb_s: seconds until its end): what
  the others still get, beside what one compiler alone gives them;
- a sampler that hands over a completion every --sample_ms: judged early, or all
  at the end;
- how long texts take that are refused without a compiler;
- a rival, what a script would do: one candidate at a time, a compiler process,
  then a fresh process that loads, runs and compares.

`--form=torch` hands the same kernels over as Python that calls load_inline.
The last line of the output is a JSON object with the figures, the record with
all samples goes to benchmarks/results/, and `--plot` draws it (several records:
throughput_plot.py). KernelBench's own way needs PyTorch: rival_load_inline.py.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import native_candidates
import record
import throughput_plot
import torch_candidates
import tqdm

from jaxkern._core import find_hopeless
from jaxkern.evaluator import Evaluator, Request
from jaxkern.tasks import bundle

STAGES = ("compile_s", "queue_s", "run_s")
# The compiler computes for a minute or more, in little memory.
BOMB = """template <int K> constexpr int spin() {{
  int s = K + {i};
  for (int i = 0; i < 100000; ++i) s = (s * 3 + i) & 0xffffff;
  return s;
}}
template <int K> struct chain {{
  static constexpr int value = spin<K>() ^ chain<K - 1>::value;
}};
template <> struct chain<0> {{ static constexpr int value = 0; }};
int bomb() {{ return chain<800>::value; }}
int launch();
"""


FORMS = {
  "native": native_candidates.candidates,
  "torch": torch_candidates.candidates,
}


def make_requests(
  form: str, count: int, repetitions: int, directory: pathlib.Path
) -> list[Request]:
  """Requests over bundles that are written below `directory`."""
  requests = []
  for task, source in tqdm.tqdm(FORMS[form](count), desc="bundles"):
    problem = directory / task.name
    if not problem.exists():
      bundle.write_bundle(task, problem)
    requests.append(Request(str(problem), source, repetitions=repetitions))
  return requests


def judge(evaluator: Evaluator, requests, label: str):
  """All at once, and the seconds; raises if a candidate fails."""
  start = time.perf_counter()
  tickets = {evaluator.submit(request): request for request in requests}
  results = []
  bar = tqdm.tqdm(total=len(requests), desc=label, unit="candidate")
  with bar:
    while tickets:
      ticket, result = evaluator.next()
      request = tickets.pop(ticket, None)
      if request is None:  # A bomb's end.
        continue
      if result.status != "ok":
        raise RuntimeError(f"{request.task}: {result.status}: {result.log}")
      results.append(result)
      bar.update()
  return time.perf_counter() - start, results


def figures(seconds: float, results, cores: int) -> dict:
  """What the results of one batch say, and what is busiest.

  `busy` is the share of its time in which a core's compiler, or the one place
  that runs candidates, had work: what comes near 1 binds.
  """
  samples = {s: [getattr(r, s) for r in results] for s in STAGES}
  roads = [getattr(r, "road", "") for r in results]
  busy = {
    "compile": sum(samples["compile_s"]) / seconds / cores,
    "run": sum(samples["run_s"]) / seconds,
  }
  return {
    "candidates": len(results),
    "candidates_per_s": len(results) / seconds,
    "busy": busy,
    "binds": max(busy, key=busy.get),
    "compile_s_median": statistics.median(samples["compile_s"]),
    "fast_road_share": sum(r not in ("", "nvcc") for r in roads) / len(roads),
    "stage_s_mean": {s: statistics.fmean(x) for s, x in samples.items()},
    "samples": samples,
  }


def build_baselines(flags, requests: list[Request]) -> float:
  """Has them all in a cache that the others start from; the seconds."""
  flags.baselines = f"{flags.scratch}/baselines"
  with Evaluator(flags.device, cache_dir=flags.baselines) as evaluator:
    return judge(evaluator, requests, "baselines")[0]


def fresh(flags, cores: list[int], compilers: int = 0) -> Evaluator:
  """An evaluator that is kept to some cores; its cache holds baselines only."""
  os.sched_setaffinity(0, cores)
  cache = tempfile.mkdtemp(dir=flags.scratch)
  shutil.copytree(flags.baselines, cache, dirs_exist_ok=True)
  return Evaluator(
    flags.device,
    compile_workers=compilers or len(cores),
    cache_dir=cache,
  )


def on_cores(flags, cores: list[int], requests: list[Request], warm_up) -> dict:
  """Figures of a fresh evaluator, and of the same from its cache."""
  with fresh(flags, cores) as evaluator:
    judge(evaluator, warm_up, "warm-up")
    judged = judge(evaluator, requests, f"{len(cores)} cores")
    found = figures(*judged, len(cores))
    seconds, hits = judge(evaluator, requests, "cached")
    found["cached_per_s"] = len(hits) / seconds
    found["cache_hits"] = sum(hit.cache_hit for hit in hits)
    found["stats"] = evaluator.stats()
    found["evaluator"] = evaluator.describe()
  return found


def beside_bombs(flags, cores: list[int], requests: list[Request]) -> dict:
  """Throughput with a bomb on all cores but one, and of one compiler alone."""
  rates = {}
  for name, compilers, bombs in (
    ("one_compiler", 1, 0),
    ("all_but_one_bombed", len(cores), len(cores) - 1),
  ):
    with fresh(flags, cores, compilers) as evaluator:
      for i in range(bombs):
        evaluator.submit(
          Request(
            requests[0].task,
            BOMB.format(i=i),
            compile_timeout_s=flags.bomb_s,
          )
        )
      seconds, results = judge(evaluator, requests, name)
      rates[f"{name}_per_s"] = len(results) / seconds
  return {"bombs": len(cores) - 1, **rates}


def early_start(flags, cores: list[int], requests: list[Request]) -> dict:
  """Seconds from the first token to the last verdict, both ways."""

  def sampled():
    for request in requests:
      time.sleep(flags.sample_ms / 1000)
      yield request

  seconds = {}
  for name, hand_over in (
    ("all_at_the_end_s", lambda: list(sampled())),
    ("as_they_come_s", sampled),
  ):
    with fresh(flags, cores) as evaluator:
      start = time.perf_counter()
      evaluator.evaluate(hand_over())
      seconds[name] = time.perf_counter() - start
  return {
    "completions": len(requests),
    "sampling_s": len(requests) * flags.sample_ms / 1000,
    **seconds,
  }


def rejection(count: int) -> dict:
  """Microseconds for native texts cut off, as a token limit does."""
  samples = []
  for _, source in native_candidates.candidates(count):
    cut = source[: source.rindex("{") + 1]
    start = time.perf_counter()
    found = find_hopeless(cut)
    samples.append(1e6 * (time.perf_counter() - start))
    if found is None:
      raise RuntimeError(f"not refused: {cut}")
  return {"median_us": statistics.median(samples), "max_us": max(samples)}


def serial_rival(flags, requests: list[Request]) -> dict:
  """A process per candidate, one at a time."""
  beside = pathlib.Path(sys.executable).with_name("jaxkern-eval")
  program = str(beside) if beside.exists() else "jaxkern-eval"
  samples = []
  for request in tqdm.tqdm(requests, desc="rival", unit="candidate"):
    suffix = ".py" if flags.form == "torch" else ".cu"
    source = pathlib.Path(flags.scratch) / f"rival{suffix}"
    source.write_text(request.source)
    command = [program, f"--bundle={request.task}", str(source)]
    command += [f"--device={flags.device}"]
    command += [f"--repetitions={request.repetitions}"]
    start = time.perf_counter()
    subprocess.run(
      command,
      check=True,
      stdout=subprocess.DEVNULL,
      stderr=subprocess.DEVNULL,
      env={**os.environ, "JAXKERN_CACHE": flags.baselines},
    )
    samples.append(time.perf_counter() - start)
  return {
    "what": "jaxkern-eval, one process per candidate, one at a time",
    "candidates": len(samples),
    "candidates_per_s": len(samples) / sum(samples),
    "samples": samples,
  }


def parse() -> argparse.Namespace:
  """The command line."""
  flags = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
  flags.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
  flags.add_argument("--form", choices=tuple(FORMS), default="native")
  flags.add_argument("--cores", help="e.g. 1,2,4; default: all there are")
  flags.add_argument("--count", type=int, default=128, help="candidates")
  flags.add_argument("--repetitions", type=int, default=20)
  flags.add_argument("--bomb_s", type=float, default=60)
  flags.add_argument("--sample_ms", type=float, default=100)
  flags.add_argument("--rivals", type=int, default=16, help="candidates")
  flags.add_argument("--out", help="default: benchmarks/results/")
  flags.add_argument("--plot", help="an SVG to draw of the record")
  return flags.parse_args()


def measure(flags, cores: list[int], counts: list[int]) -> dict:
  """All parts, by name."""
  with tempfile.TemporaryDirectory() as flags.scratch:
    tasks = native_candidates.TASKS
    made = make_requests(
      flags.form,
      flags.count + 2 * tasks,
      flags.repetitions,
      pathlib.Path(flags.scratch),
    )
    requests, warm_up = made[: flags.count], made[-tasks:]
    baselines_s = build_baselines(flags, made[flags.count : -tasks])
    scaling = {n: on_cores(flags, cores[:n], requests, warm_up) for n in counts}
    os.sched_setaffinity(0, cores)
    some = requests[:: max(1, len(requests) // 32)]
    step = max(1, flags.count // flags.rivals)
    return {
      "device": flags.device,
      "form": flags.form,
      "baselines_s": baselines_s,
      "scaling": scaling,
      "bombs": beside_bombs(flags, cores, some),
      "early_start": early_start(flags, cores, some),
      "rejection": rejection(flags.count),
      "rival": serial_rival(flags, requests[::step][: flags.rivals]),
    }


def summary(found: dict, cores: int) -> dict:
  """The figures without their samples."""
  best = found["scaling"][cores]
  rival = found["rival"]["candidates_per_s"]
  keys = ("candidates_per_s", "compile_s_median", "fast_road_share", "binds")
  return {
    **{key: best[key] for key in keys},
    "busy": best["busy"],
    "stage_s": best["stage_s_mean"],
    "cached_per_s": best["cached_per_s"],
    "by_cores": {
      n: scaled["candidates_per_s"] for n, scaled in found["scaling"].items()
    },
    **{key: found[key] for key in ("bombs", "early_start", "rejection")},
    "rival": {k: v for k, v in found["rival"].items() if k != "samples"},
    "ratio_to_rival": best["candidates_per_s"] / rival,
    "form": found["form"],
    "cores": cores,
    "device": found["device"],
  }


def main():
  """Measures, writes the record, and prints its figures."""
  flags = parse()
  environment = record.environment()
  cores = sorted(os.sched_getaffinity(0))
  wanted = [int(n) for n in flags.cores.split(",")] if flags.cores else []
  counts = sorted({len(cores), *(n for n in wanted if n < len(cores))})
  name = f"evaluator_throughput_{flags.device}_{flags.form}_{len(cores)}cores"
  out = flags.out or pathlib.Path(__file__).parent / f"results/{name}.json"
  found = measure(flags, cores, counts)
  line = summary(found, len(cores))
  record.write(out, {"environment": environment, **found, "summary": line})
  if flags.plot:
    drawn = json.loads(pathlib.Path(out).read_text())
    throughput_plot.draw(flags.plot, [drawn])
  sys.stderr.flush()
  print(json.dumps(line | {"repetitions": flags.repetitions}))


if __name__ == "__main__":
  main()
