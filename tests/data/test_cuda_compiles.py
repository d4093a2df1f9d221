"""All that the suite and the corpus write is CUDA: nvcc takes it."""

import glob
import os
import shutil
import subprocess
import sysconfig

import pytest

from jaxkern.data import corpus
from jaxkern.tasks import suite


def nvcc():
  """CUDA_HOME, PATH, then the wheels."""
  wheels = sysconfig.get_paths()["purelib"] + "/nvidia/cu*/bin"
  places = [os.environ.get("CUDA_HOME", "/nowhere") + "/bin"]
  places += [os.environ["PATH"], *glob.glob(wheels)]
  return shutil.which("nvcc", path=os.pathsep.join(places))


def one_unit(sources):
  """Many candidates as one translation unit, each in names of its own."""
  names = ("launch", "kernel", "compute", "run", "f")
  names += ("warp_sum", "warp_max", "block_sum", "block_max")
  text = ""
  for k, source in enumerate(sources):
    text += "".join(f"#define {n} {n}_{k}\n" for n in names)
    text += source + "".join(f"#undef {n}\n" for n in names)
  return text


@pytest.mark.parametrize(
  "sources",
  [
    [suite.get(name).baseline for name in suite.names()],
    [p.source for p in corpus.propose(suite.names("train"), 0, 124)],
  ],
  ids=["baselines", "corpus"],
)
def test_nvcc_compiles(sources, tmp_path):
  if nvcc() is None:
    pytest.skip("no nvcc: install jaxkern-cuda[test]")
  unit = tmp_path / "all.cu"
  unit.write_text(one_unit(sources))
  command = [nvcc(), "-cubin", "-arch=sm_90", "-Werror", "all-warnings"]
  command += ["-o", str(tmp_path / "all.cubin"), str(unit)]
  done = subprocess.run(command, capture_output=True, text=True)
  assert done.returncode == 0, done.stderr
