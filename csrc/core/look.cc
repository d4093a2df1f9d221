// What a pipeline finds out about a task without a compiler.
#include <chrono>
#include <string>
#include <utility>

#include "core/candidate.h"
#include "core/entry.h"
#include "core/hopeless.h"
#include "core/inspect.h"
#include "core/pipeline.h"
#include "core/rules.h"

namespace jaxkern {

/// All that needs no compiler: what the text alone decides, and what the cache
/// has. Nothing here waits.
void Pipeline::LookAtTask(const TaskPtr& task) {
  Result& result = task->result;
  result.device = worker_.device;
  result.queue_s += std::chrono::duration<double>(
                        std::chrono::steady_clock::now() - task->queued)
                        .count();
  if (!InService(task)) return;
  const Request& request = task->request;
  const Candidate candidate = ReadCandidate(request.source);
  result.form = candidate.form;
  if (request.rules && BreaksARule(task, candidate.text)) return;
  if (IsHopeless(task)) return;
  const bool ready = request.repetitions == 0 ||
                     baseline_builder_.Known(*task->problem) != nullptr;
  if (ready && queues_.HasRoomToRun()) {
    if (auto build = builder_.Find(request.source, *task->problem)) {
      return TakeBuild(task, std::move(*build));
    }
  }
  queues_.Push(Stage::kBuild, task);
}

/// By its text, before anything is compiled.
bool Pipeline::BreaksARule(const TaskPtr& task, const std::string& text) {
  const auto breach = FindBreach(text);
  if (!breach) return false;
  health_.CountRejected();
  task->result.rule = breach->rule;
  task->result.evidence = breach->evidence;
  Fail(task, Status::kCheating, "compile",
       "cheating (" + breach->rule + "): " + breach->message + "\n" +
           breach->evidence + "\n");
  return true;
}

/// By what the linker left, before anything of it runs.
bool Pipeline::HasABadLibrary(const TaskPtr& task) {
  const auto offence = Inspect(task->build.library.get());
  if (!offence) return false;
  task->result.rule = offence->rule;
  task->result.evidence = offence->evidence;
  Fail(task, Status::kCheating, "link",
       "cheating (" + offence->rule + "): the kernel " + offence->evidence +
           ", which no kernel needs\n");
  return true;
}

/// By its text: no compiler would take it.
bool Pipeline::IsHopeless(const TaskPtr& task) {
  const auto hopeless =
      FindHopeless(task->request.source, Signature(*task->problem));
  if (!hopeless) return false;
  health_.CountRejected();
  Fail(task, hopeless->status, hopeless->stage, hopeless->log);
  return true;
}

}  // namespace jaxkern
