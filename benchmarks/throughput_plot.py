"""Draws records of evaluator_throughput.py: throughput by cores, and stages.

python benchmarks/throughput_plot.py --out=docs/throughput.svg RECORD...
"""

import argparse
import json
import pathlib

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot  # noqa: E402

STAGES = {"compile_s": "compile", "run_s": "run and time"}


def draw(out, records: list[dict]) -> None:
  """An SVG of as many records as there are."""
  figure, (rates, stages) = pyplot.subplots(1, 2, figsize=(9, 3.2))
  most, bars = [], []
  for record in records:
    label = f"{record['device']}, {record['form']}"
    scaling = {int(n): found for n, found in record["scaling"].items()}
    cores = sorted(scaling)
    rates.plot(
      cores, [scaling[n]["candidates_per_s"] for n in cores], "o-", label=label
    )
    most += cores
    bars.append((label, scaling[cores[-1]]["stage_s_mean"]))
  rates.set_xscale("log", base=2)
  rates.set_xticks(sorted(set(most)), [str(n) for n in sorted(set(most))])
  rates.set(xlabel="cores", ylabel="candidates per second")
  rates.set_ylim(0, 1.1 * rates.dataLim.ymax)
  rates.legend(frameon=False)
  left = [0.0] * len(bars)
  for stage, name in STAGES.items():
    widths = [means[stage] for _, means in bars]
    stages.barh([label for label, _ in bars], widths, left=left, label=name)
    left = [a + b for a, b in zip(left, widths, strict=True)]
  stages.set(xlabel="seconds of one candidate, all cores busy")
  stages.legend(
    frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2
  )
  figure.tight_layout()
  # The same records give the same bytes.
  with pyplot.rc_context({"svg.hashsalt": "throughput"}):
    figure.savefig(out, metadata={"Date": None})
  pyplot.close(figure)


def main():
  """Reads records and draws them."""
  flags = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
  flags.add_argument("records", nargs="+")
  flags.add_argument("--out", required=True)
  flags = flags.parse_args()
  draw(
    flags.out, [json.loads(pathlib.Path(r).read_text()) for r in flags.records]
  )


if __name__ == "__main__":
  main()
