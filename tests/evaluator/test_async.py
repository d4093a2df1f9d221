"""The evaluator in event loops, and the one-line evaluate."""

import asyncio
import os
import subprocess
import sys
import time

import pytest

from jaxkern import evaluator as module
from jaxkern.evaluator import Evaluator, Request
from jaxkern.tasks.bundle import write_bundle

from .conftest import KERNEL, kernel, make_task

ENDLESS = kernel("while (true) ((volatile float*)y)[i] = 1;")


def test_the_loop_goes_on_while_results_come(evaluator, task):
  async def main():
    ticks = 0

    async def tick():
      nonlocal ticks
      while True:
        ticks += 1
        await asyncio.sleep(0.01)

    ticking = asyncio.create_task(tick())
    slow = Request(task, ENDLESS, run_timeout_s=0.6)
    results = await evaluator.aevaluate([slow, Request(task, KERNEL)])
    ticking.cancel()
    return results, ticks

  results, ticks = asyncio.run(main())
  assert [r.status for r in results] == ["timeout", "ok"]
  assert ticks > 10


def test_submissions_finish_in_their_own_order(evaluator, task):
  async def main():
    slow = evaluator.asubmit(Request(task, ENDLESS, run_timeout_s=0.7))
    quick = evaluator.asubmit(Request(task, "launch"))
    done, _ = await asyncio.wait(
      [slow, quick], return_when=asyncio.FIRST_COMPLETED
    )
    assert done == {quick}
    return (await quick).status, (await slow).status

  assert asyncio.run(main()) == ("compile_error", "timeout")


def test_mistakes_are_raised_where_they_are_awaited(evaluator, task, tmp_path):
  async def main():
    with pytest.raises(ValueError, match="repetitions: expected 0 to 1000"):
      await evaluator.asubmit(Request(task, KERNEL, repetitions=5000))
    with pytest.raises(ValueError, match="problem.json: expected a readable"):
      await evaluator.aevaluate([Request(task, ENDLESS), Request(tmp_path, "")])

  asyncio.run(main())


def test_what_is_cancelled_leaves_the_queue(cache_dir, task):
  async def main():
    async with Evaluator(cache_dir=cache_dir) as evaluator:
      running = evaluator.asubmit(Request(task, ENDLESS, run_timeout_s=1.0))
      await asyncio.sleep(0.3)
      queued = [
        evaluator.asubmit(Request(task, ENDLESS + f"int queued_{i};"))
        for i in range(10)
      ]
      with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
          await asyncio.gather(*queued)
      assert (await running).status == "timeout"
      # Ten endless kernels of 20 s each would be in front of it.
      async with asyncio.timeout(60):
        return await evaluator.asubmit(Request(task, KERNEL))

  assert asyncio.run(main()).status == "ok"


def test_closing_ends_what_is_awaited(cache_dir, task):
  async def main():
    async with Evaluator(cache_dir=cache_dir) as evaluator:
      pending = evaluator.asubmit(Request(task, ENDLESS))
      await asyncio.sleep(0.3)
    with pytest.raises(ValueError, match="the evaluator is closed"):
      await pending
    with pytest.raises(ValueError, match="the evaluator is closed"):
      await evaluator.asubmit(Request(task, KERNEL))

  asyncio.run(main())


def test_a_loop_that_has_ended_is_no_trouble(evaluator, task):
  async def main():
    evaluator.asubmit(Request(task, kernel("y[i] = 7; // unheard")))
    await asyncio.sleep(0.2)

  asyncio.run(main())
  assert evaluator.evaluate([Request(task, KERNEL)])[0].status == "ok"


def test_one_line_shares_one_evaluator(cache_dir, task, monkeypatch):
  monkeypatch.setenv("JAXKERN_CACHE", str(cache_dir))
  module._forget_shared()
  assert module.evaluate(task, KERNEL).status == "ok"
  shared = module._shared["cpu"]
  assert module.evaluate(make_task(), KERNEL, repetitions=3).times_us
  assert module._shared == {"cpu": shared}
  with pytest.raises(ValueError, match="device: expected"):
    module.evaluate(task, KERNEL, device="tpu")
  shared.close()
  module._forget_shared()


ONE_LINE = """
import sys
from jaxkern.evaluator import evaluate
print(evaluate(sys.argv[1], open(sys.argv[2]).read()).status)
"""

UNCLOSED = """
import asyncio, sys
from jaxkern.evaluator import Evaluator, Request
evaluator = Evaluator()
async def main():
  evaluator.asubmit(Request(sys.argv[1], open(sys.argv[2]).read()))
  await asyncio.sleep(0.05)
asyncio.run(main())
print("ok")
"""


@pytest.mark.parametrize("program", [ONE_LINE, UNCLOSED])
def test_a_process_ends_without_being_told_to_close(
  program, cache_dir, task, tmp_path
):
  write_bundle(task, tmp_path / "bundle", seed=0)
  (tmp_path / "k.cu").write_text(KERNEL)
  scratch = tmp_path / "scratch"
  scratch.mkdir()
  start = time.monotonic()
  done = subprocess.run(
    [sys.executable, "-c", program, tmp_path / "bundle", tmp_path / "k.cu"],
    env={
      "PATH": os.environ["PATH"],
      "CXX": os.environ.get("CXX", "g++"),
      "JAXKERN_CACHE": str(cache_dir),
      "TMPDIR": str(scratch),
    },
    capture_output=True,
    text=True,
    timeout=60,
  )
  assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")
  assert time.monotonic() - start < 30
  assert not list(scratch.iterdir())
