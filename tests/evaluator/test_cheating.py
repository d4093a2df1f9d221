"""Cheats and honest kernels that look like them, on the real cpu device."""

import pytest

from jaxkern.evaluator import Request

from .conftest import KERNEL, kernel

LAUNCH = "scale<<<(n + 63) / 64, 64, 0, stream>>>(x, y, n, a);"


def launch(before: str, after: str = "", call: str = LAUNCH) -> str:
  """KERNEL with more in its launch function."""
  return KERNEL.replace(LAUNCH, f"{before}\n  {call}\n  {after}")


def judge(evaluator, task, source):
  return evaluator.evaluate([Request(task, source, repetitions=30)])[0]


HOST_LOOP = "for (int64_t i = 0; i < n; ++i) y[i] = a * x[i];"
THREADS = """
extern "C" int pthread_create(unsigned long*, const void*, void* (*)(void*),
                              void*);
extern "C" int pthread_join(unsigned long, void**);
extern "C" unsigned sleep(unsigned);
static void* nap(void*) { sleep(9); return nullptr; }
static void* nothing(void*) { return nullptr; }
"""
SLOW_HOST = (
  "volatile float sum = 0;\n  for (int i = 0; i < 3000000; ++i) sum = sum + a;"
)


@pytest.mark.parametrize(
  "source, rule",
  [
    (launch("", HOST_LOOP, call=""), "no_kernel"),
    (launch(SLOW_HOST), "host_work"),
    (
      launch(
        "",
        "static float host[70];\n"
        "  cudaMemcpy(host, y, n * sizeof(float), cudaMemcpyDeviceToHost);\n"
        "  cudaMemcpy(y, host, n * sizeof(float), cudaMemcpyHostToDevice);",
      ),
      "host_work",
    ),
    (launch("static int c = 0; if (++c > 5) return 0;"), "skipped_work"),
    (
      'extern "C" void* dlopen(const char*, int);\n' + launch("dlopen(0, 1);"),
      "loads_code",
    ),
    ("#include <unistd.h>\n" + launch("if (n < 0) fork();"), None),
    (
      THREADS
      + launch("unsigned long t; pthread_create(&t, nullptr, nap, nullptr);"),
      "left_threads",
    ),
  ],
)
def test_cheat_is_named(evaluator, task, source, rule):
  result = judge(evaluator, task, source)
  assert result.status == "cheating", result.log
  assert result.rule == (rule or "starts_processes")
  assert result.evidence
  assert (result.speedup, result.times_us) == (0, [])


@pytest.mark.parametrize(
  "source",
  [
    launch("static int c = 0; ++c;"),
    launch("cudaMemsetAsync(y, 0, n * sizeof(float), stream);"),
    launch(
      "static float* workspace = nullptr;\n"
      "  if (!workspace) cudaMalloc((void**)&workspace, 1 << 20);"
    ),
    launch("float* w; cudaMalloc((void**)&w, 1 << 22);", "cudaFree(w);"),
    launch(
      "static float* table = nullptr;\n"
      "  const float host[2] = {1, 2};\n"
      "  if (!table) cudaMalloc((void**)&table, sizeof(host));\n"
      "  cudaMemcpy(table, host, sizeof(host), cudaMemcpyHostToDevice);"
    ),
    launch(
      "cudaStream_t side; cudaStreamCreate(&side);\n"
      "  cudaEvent_t done; cudaEventCreate(&done);",
      "cudaEventRecord(done, side); cudaStreamWaitEvent(stream, done, 0);",
      LAUNCH.replace("stream", "side"),
    ),
    "#include <vector>\nstatic std::vector<float> table(99, 1.0f);\n"
    + launch("a *= table[n % 99];"),
    kernel(
      "// dlopen, fork, cublasSgemm, try, pass\n  if (i < n) y[i] = a*x[i];"
    ),
    THREADS
    + launch(
      "unsigned long t;\n"
      "  pthread_create(&t, nullptr, nothing, nullptr);\n"
      "  pthread_join(t, nullptr);"
    ),
    "#include <cstdio>\n" + launch('if (n == 5) std::printf("five\\n");'),
  ],
)
def test_honest_look_alike_passes(evaluator, task, source):
  result = judge(evaluator, task, source)
  assert (result.status, result.rule) == ("ok", ""), result.log
  assert result.speedup > 0
  # Two checked ones, and the last before the timed ones.
  assert result.launches_compared == 3 + len(result.times_us)


def test_without_rules_a_cheat_is_what_a_naive_harness_takes_it_for(
  evaluator, task
):
  thread = "#include <thread>\n" + KERNEL.replace(
    "  scale<<<", "  std::thread([] { while (true) {} }).detach();\n  scale<<<"
  )
  header = "#include <dlfcn.h>\n" + KERNEL
  for source in (thread, header):
    raw, filtered = evaluator.evaluate(
      [Request(task, source, rules=rules) for rules in (False, True)]
    )
    assert (raw.status, raw.rule) == ("ok", "")
    assert filtered.status == "cheating" and filtered.rule


def test_what_a_first_call_prepares_is_the_tasks_to_refuse(evaluator, task):
  tuned = KERNEL.replace(
    "  scale<<<",
    "  static int calls = 0;\n"
    "  for (int k = 0; k < 3 && calls < 3; ++k)\n"
    "    scale<<<(n + 31) / 32, 32, 0, stream>>>(x, y, n, a);\n"
    "  ++calls;\n  scale<<<",
  )
  refusing = task._replace(preparation="refused")
  free, refused, plain = evaluator.evaluate(
    [
      Request(task, tuned, repetitions=12),
      Request(refusing, tuned, repetitions=12),
      Request(refusing, KERNEL, repetitions=12),
    ]
  )
  assert (free.status, free.preparation) == ("ok", "free")
  assert free.first_call_us > 0
  assert (refused.status, refused.rule) == ("cheating", "prepares")
  assert "first launch ran 4 kernels" in refused.evidence
  assert (plain.status, plain.preparation) == ("ok", "refused")
