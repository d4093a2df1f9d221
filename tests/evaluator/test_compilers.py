"""Verdicts do not depend on how the host's compiler was set up."""

import subprocess

import pytest

from jaxkern.evaluator import Evaluator, Request

from .conftest import KERNEL, kernel
from .faults import FAULTS

# g++ as some hosts have it; LIBRARIES has a libstdc++.a and no libstdc++.so.
SETUPS = {
  "static_by_option": '"$@" -static-libstdc++',
  "static_for_want_of_another": '-LLIBRARIES "$@"',
  "hardened": (
    "-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong"
    " -fstack-clash-protection -fcf-protection -Wl,-z,now -Wl,--as-needed"
    ' "$@"'
  ),
}
HONEST = KERNEL.replace(
  "cudaStream_t stream) {",
  """cudaStream_t stream) {
  static std::map<std::string, std::vector<float>> tables;
  tables[std::to_string(n)].resize(n, a);
  const auto start = std::chrono::steady_clock::now();
  if (start.time_since_epoch().count() < 0) std::cout << n << std::endl;
  char text[32];
  memset(text, 0, n < 32 ? n : 32);
  printf("%s%d", text, snprintf(text, sizeof text, "%d", (int)n));
  try {
    tables.at("of none");
  } catch (const std::exception&) {
  }""",
)
HEADERS = "chrono iostream map stdexcept stdio.h string string.h vector"
HONEST = "".join(f"#include <{h}>\n" for h in HEADERS.split()) + HONEST
PAST_THE_END = kernel(
  "__shared__ float s[8][4]; float* p = &s[0][0]; p[i] = x[i % n];"
)


@pytest.fixture(scope="module", params=SETUPS)
def other(request, tmp_path_factory):
  """An evaluator with such a compiler."""
  directory = tmp_path_factory.mktemp("compiler")
  archive = subprocess.check_output(
    ["g++", "-print-file-name=libstdc++.a"], text=True
  )
  (directory / "libstdc++.a").symlink_to(archive.strip())
  options = SETUPS[request.param].replace("LIBRARIES", str(directory))
  compiler = directory / "g++"
  compiler.write_text(f"#!/bin/sh\nexec g++ {options}\n")
  compiler.chmod(0o755)
  with Evaluator(
    compiler=str(compiler), cache_dir=directory / "cache"
  ) as evaluator:
    yield evaluator


def test_the_cpp_library_is_honest(other, task):
  result = other.evaluate([Request(task, HONEST, repetitions=5)])[0]
  assert (result.status, result.rule) == ("ok", ""), result.log


@pytest.mark.parametrize(
  "kind", ["files_left", "host_allocation", "exception", "exception_of_its_own"]
)
def test_fault_has_its_status(other, task, kind):
  fault = FAULTS[kind]
  result = other.evaluate([Request(task, fault.source)])[0]
  expected = ("cheating", fault.rule) if fault.rule else (fault.status, "")
  assert (result.status, result.rule) == expected, result.log
  assert fault.log in result.log


def test_shared_arrays_are_the_candidates_own(other, task):
  request = Request(task, PAST_THE_END, diagnose=True)
  result = other.evaluate([request])[0]
  assert (
    "out-of-bounds write of s[8][0] (shared) (s has 8 x 4 elements) by thread"
    " (32,0,0)" in result.diagnosis
  )
