"""Both roads of the cuda device over the corpora, without a GPU.

    python benchmarks/split_roads.py build/cpp/tests/cuda_split_corpus

Builds every kernel of the conformance suite, of the cheats and of the training
corpus by NVRTC and g++ (`split`) and by nvcc. Prints for each corpus the share
that takes the fast road, why the rest does not, the seconds of both, and where
the two differ: in machine code, registers or shared memory. Equal machine code
needs no GPU to be known to give equal bits.
"""

import argparse
import collections
import json
import pathlib
import statistics
import struct
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def sections(elf):
  """Name -> bytes of an ELF file's sections."""
  (start,) = struct.unpack_from("<Q", elf, 40)
  size, count, names = struct.unpack_from("<HHH", elf, 58)
  heads = [
    struct.unpack_from("<IIQQQQ", elf, start + i * size) for i in range(count)
  ]
  table = elf[heads[names][4] :][: heads[names][5]]
  found = {}
  for name, kind, _, _, offset, length in heads:
    text = table[name : table.index(b"\0", name)].decode()
    found[text] = b"" if kind == 8 else elf[offset : offset + length]
  return found


def machine_code(library):
  """Kernel -> instructions and constants in a candidate's library."""
  fatbin = sections(library.read_bytes())[".nv_fatbin"]
  code = {}
  at = fatbin.find(b"\x7fELF")
  while at >= 0:
    following = fatbin.find(b"\x7fELF", at + 4)
    cubin = fatbin[at : following if following >= 0 else len(fatbin)]
    for name, text in sections(cubin).items():
      if name.startswith(".text.") or name == ".nv.constant3":
        code[name] = text
    at = following
  return code


def named(code):
  """With the names that namespaces without a name give out of the way."""
  kernels = sorted(text for name, text in code.items() if ".text." in name)
  return kernels, code.get(".nv.constant3", b"")


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


def report(name, lines, out):
  """Prints what became of one corpus."""
  built = [line for line in lines if line["nvcc_ok"]]
  fast = [line for line in built if line["road"] == "split"]
  print(f"{name}: {len(fast)} of {len(built)} that nvcc takes are split")
  why = collections.Counter(
    line["reason"].split(":")[0] for line in built if line["road"] != "split"
  )
  for reason, count in why.most_common():
    print(f"  {count:4d} {reason}")
  wrong = [
    line for line in lines if line["road"] == "split" and not line["nvcc_ok"]
  ]
  for line in wrong:
    print(f"  ACCEPTED, though nvcc does not: {line['file']}")
  equal = 0
  for line in fast:
    place = out / pathlib.Path(line["file"]).name
    codes = [
      named(machine_code(place / road / "kernel.so"))
      for road in ("split", "nvcc")
    ]
    equal += codes[0] == codes[1]
    if codes[0] != codes[1] or line["split"] != line["nvcc"]:
      print(f"  differs: {line['file']} {line['split']} {line['nvcc']}")
  print(f"  machine code equal: {equal} of {len(fast)}")
  if fast:
    warm = statistics.median(min(line["split_s"][1:]) for line in fast)
    nvcc = statistics.median(line["nvcc_s"] for line in fast)
    print(f"  median: split {warm:.3f} s, nvcc {nvcc:.3f} s")
  return {"corpus": name, "fast": len(fast), "of": len(built), "equal": equal}


def main():
  """Builds, compares and prints."""
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("tool", help="cuda_split_corpus of the C++ tests")
  parser.add_argument("--count", type=int, default=60, help="of the training")
  parser.add_argument("--corpora", default="conformance,cheats,training")
  flags = parser.parse_args()
  with tempfile.TemporaryDirectory() as scratch:
    scratch = pathlib.Path(scratch)
    corpora = {
      "conformance": lambda: sorted((ROOT / "tests/conformance").glob("*.cu")),
      "cheats": lambda: sorted((ROOT / "tests/cheats/corpus").glob("*.cu")),
      "training": lambda: training_corpus(scratch / "t", flags.count),
    }
    summary = []
    for name in flags.corpora.split(","):
      out = scratch / name
      run = subprocess.run(
        [flags.tool, str(out), *map(str, corpora[name]())],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
      )
      lines = [json.loads(line) for line in run.stdout.splitlines()]
      summary.append(report(name, lines, out))
    print(json.dumps(summary))


if __name__ == "__main__":
  main()
