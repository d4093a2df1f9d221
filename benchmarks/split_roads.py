"""Both roads of the cuda device over the corpora, without a GPU.

    python benchmarks/split_roads.py build/cpp/tests/cuda_split_corpus

Builds kernels of the conformance suite, of torch's form, of the cheats and of
the training corpus by NVRTC and g++ (`split`) and by nvcc, at most `--count` of
each corpus. Prints for each corpus the share that takes the fast road, why the
rest does not, the seconds of both, and where the two differ: in machine code,
registers or shared memory, and in what (split_code.py). Equal machine code
needs no GPU to be known to give equal bits. `--output` keeps all of it as JSON.
"""

import argparse
import collections
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import record
import split_code

ROOT = pathlib.Path(__file__).resolve().parent.parent


def training_corpus(directory, count):
  """Sources that the suite's generators write, as files."""
  from jaxkern.data import corpus
  from jaxkern.tasks import suite

  proposed = corpus.propose(suite.names("train"), 0, count)
  sources = [suite.get(name).baseline for name in suite.names()]
  sources += [p.source for p in proposed]
  directory.mkdir()
  for i, source in enumerate(dict.fromkeys(sources)):
    (directory / f"{i:04d}.cu").write_text(source)
  return sorted(directory.glob("*.cu"))


def torch_corpus(directory, headers):
  """The candidates in torch's form as units, with their flags beside them."""
  sys.path.insert(0, str(ROOT / "tests/torchform"))
  import candidates

  from jaxkern import _core
  from jaxkern.tasks import suite
  from jaxkern.tasks.bundle import write_bundle

  directory.mkdir()
  for candidate in candidates.read("corpus"):
    bundle = directory / f"bundle_{candidate.task}"
    if not bundle.exists():
      write_bundle(suite.get(candidate.task), bundle)
    text, flags = _core.torch_unit(str(bundle), candidate.source)
    flags = [f"-I{headers}" if f.startswith("-I") else f for f in flags]
    place = directory / f"{candidate.name}.cu"
    place.write_text(text)
    place.with_suffix(".cu.flags").write_text("\n".join(flags) + "\n")
  return sorted(directory.glob("*.cu"))


def spread(files, count):
  """At most `count` of them, evenly."""
  step = max(1.0, len(files) / count)
  return [files[int(i * step)] for i in range(min(count, len(files)))]


def build(tool, out, files):
  """The tool's lines, with progress on stderr."""
  argv = [tool, str(out), *map(str, files)]
  lines = []
  with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as running:
    for text in running.stdout:
      line = json.loads(text)
      line["file"] = pathlib.Path(line["file"]).name
      lines.append(line)
      seconds = " ".join(f"{s:.2f}" for s in line["split_s"])
      print(
        f"{out.name} {len(lines)}/{len(files)} {line['file']} {line['road']}"
        f" {seconds} nvcc {line['nvcc_s']:.2f} {line['reason']}",
        file=sys.stderr,
        flush=True,
      )
  if running.returncode != 0:
    raise SystemExit(f"{tool}: exit code {running.returncode}")
  return lines


def compare(lines, out):
  """Marks the lines that took the fast road with what differs."""
  for line in lines:
    if line["road"] != "split" or not line["nvcc_ok"]:
      continue
    libraries = [
      out / line["file"] / road / "kernel.so" for road in ("split", "nvcc")
    ]
    codes = [split_code.machine_code(library) for library in libraries]
    line["code_equal"] = codes[0] == codes[1]
    if not line["code_equal"]:
      line["difference"] = split_code.difference(*libraries)
    line["resources_equal"] = line["split"] == line["nvcc"]


def quantiles(values):
  """Least, quartiles and most, in seconds."""
  if len(values) < 2:
    return values
  return [
    min(values),
    *statistics.quantiles(values, method="inclusive"),
    max(values),
  ]


def report(name, lines):
  """Prints what became of one corpus."""
  built = [line for line in lines if line["nvcc_ok"]]
  fast = [line for line in built if line["road"] == "split"]
  print(f"{name}: {len(fast)} of {len(built)} that nvcc takes are split")
  why = collections.Counter(
    line["reason"].split(":")[0] for line in built if line["road"] != "split"
  )
  for reason, count in why.most_common():
    print(f"  {count:4d} {reason}")
  accepted = [
    line["file"]
    for line in lines
    if line["road"] == "split" and not line["nvcc_ok"]
  ]
  print("".join(f"  ACCEPTED, though nvcc does not: {f}\n" for f in accepted))
  for line in fast:
    if not line["code_equal"] or not line["resources_equal"]:
      print(
        f"  differs: {line['file']} {line['split']} {line['nvcc']}"
        f" {line.get('difference', '')}"
      )
  equal = sum(line["code_equal"] for line in fast)
  print(f"  machine code equal: {equal} of {len(fast)}")
  summary = {
    "corpus": name,
    "split": len(fast),
    "of": len(built),
    "code_equal": equal,
    "resources_equal": sum(line["resources_equal"] for line in fast),
    "accepted_though_nvcc_does_not": accepted,
    "reasons": dict(why),
    "split_s": quantiles([min(line["split_s"][1:]) for line in fast]),
    "nvcc_s": quantiles([line["nvcc_s"] for line in built]),
    "samples": lines,
  }
  print(f"  seconds: split {summary['split_s']}, nvcc {summary['nvcc_s']}")
  return summary


def main():
  """Builds, compares and prints."""
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("tool", help="cuda_split_corpus of the C++ tests")
  parser.add_argument("--count", type=int, default=60, help="of a corpus")
  parser.add_argument(
    "--corpora", default="conformance,torchform,cheats,training"
  )
  parser.add_argument("--output", help="a file for all of it as JSON")
  flags = parser.parse_args()
  start = time.time()
  headers = pathlib.Path(flags.tool).resolve().parents[1] / "_native/torch"
  with tempfile.TemporaryDirectory() as scratch:
    scratch = pathlib.Path(scratch)
    corpora = {
      "conformance": lambda: sorted((ROOT / "tests/conformance").glob("*.cu")),
      "torchform": lambda: torch_corpus(scratch / "torch", headers),
      "cheats": lambda: sorted((ROOT / "tests/cheats/corpus").glob("*.cu")),
      "training": lambda: training_corpus(scratch / "t", flags.count),
    }
    summary = []
    for name in flags.corpora.split(","):
      out = scratch / name
      lines = build(flags.tool, out, spread(corpora[name](), flags.count))
      compare(lines, out)
      summary.append(report(name, lines))
  result = {
    "environment": record.environment(),
    "seconds": round(time.time() - start, 1),
    "corpora": summary,
  }
  if flags.output:
    record.write(flags.output, result)
  print(
    json.dumps(
      [{k: v for k, v in s.items() if k != "samples"} for s in summary]
    )
  )


if __name__ == "__main__":
  main()
