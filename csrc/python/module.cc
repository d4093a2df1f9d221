// jaxkern._core: the evaluator in Python. Translates, and releases the GIL.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/cache.h"
#include "core/candidate.h"
#include "core/hopeless.h"
#include "core/problem.h"
#include "core/torch_entry.h"
#include "jaxkern/evaluator.h"

namespace py = pybind11;

namespace jaxkern {
namespace {

/// Lets Ctrl-C through while a thread waits without the GIL.
void CheckSignals() {
  const py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

/// A Python function as `done`: called, and freed, with the GIL held, whichever
/// thread does it.
std::function<void(const Result&)> WithGil(py::function function) {
  const std::shared_ptr<py::function> held(
      new py::function(std::move(function)), [](py::function* last) {
        const py::gil_scoped_acquire gil;
        delete last;
      });
  return [held](const Result& result) {
    const py::gil_scoped_acquire gil;
    try {
      (*held)(result);
    } catch (py::error_already_set& error) {
      error.discard_as_unraisable("a result's callback");
    }
  };
}

py::dict ToDict(const Result& result) {
  const py::object loads = py::module_::import("json").attr("loads");
  return loads(ToJson(result));
}

/// Evaluator with an end that can be called; children must not wait for the
/// garbage collector.
class ClosableEvaluator {
 public:
  explicit ClosableEvaluator(const Options& options)
      : evaluator_(std::make_shared<Evaluator>(options)) {}
  ~ClosableEvaluator() {
    // Threads that are waited for may want the GIL, to call back.
    const py::gil_scoped_release released;
    Close();
  }

  std::vector<Result> Evaluate(const std::vector<Request>& requests) {
    return Open()->Evaluate(requests, CheckSignals);
  }
  uint64_t Submit(const Request& request) { return Open()->Submit(request); }
  uint64_t SubmitThen(const Request& request, py::function done) {
    auto function = WithGil(std::move(done));
    const py::gil_scoped_release released;
    return Open()->Submit(request, std::move(function));
  }
  void Abandon(uint64_t ticket) {
    std::shared_ptr<Evaluator> evaluator;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      evaluator = evaluator_;
    }
    if (evaluator) evaluator->Abandon(ticket);  // closing abandons all
  }

  std::optional<std::pair<uint64_t, Result>> Next(double timeout_s) {
    constexpr double kSlice = 0.1;
    const auto evaluator = Open();
    const auto start = std::chrono::steady_clock::now();
    while (true) {
      const std::chrono::duration<double> waited =
          std::chrono::steady_clock::now() - start;
      const double left = timeout_s - waited.count();
      const bool last = timeout_s >= 0 && left <= kSlice;
      auto next = evaluator->Next(last ? std::max(left, 0.0) : kSlice);
      if (next || last) return next;
      CheckSignals();
      if (evaluator->Pending() == 0) return std::nullopt;
    }
  }
  std::string Describe() { return Open()->Describe(); }
  py::dict GetStats() {
    const Stats stats = Open()->stats();
    py::dict d;
    d["results"] = stats.results;
    d["infra_errors"] = stats.infra_errors;
    d["retries"] = stats.retries;
    d["workers_started"] = stats.workers_started;
    d["rejected"] = stats.rejected;
    d["cache_hits"] = stats.cache_hits;
    d["cache_misses"] = stats.cache_misses;
    d["cache_joined"] = stats.cache_joined;
    d["cache_evicted"] = stats.cache_evicted;
    d["cache_bytes"] = stats.cache_bytes;
    d["queued_builds"] = stats.queued_builds;
    d["queued_runs"] = stats.queued_runs;
    d["queued_checks"] = stats.queued_checks;
    d["compiling"] = stats.compiling;
    d["compilers"] = stats.compilers;
    d["starved"] = stats.starved;
    d["blocked_s"] = stats.blocked_s;
    d["stalled_s"] = stats.stalled_s;
    d["out_of_service"] = stats.out_of_service;
    return d;
  }
  void Close() {
    std::shared_ptr<Evaluator> last;
    const std::lock_guard<std::mutex> lock(mutex_);
    last.swap(evaluator_);
  }

 private:
  std::shared_ptr<Evaluator> Open() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!evaluator_) throw py::value_error("the evaluator is closed");
    return evaluator_;
  }

  std::mutex mutex_;  // never held while something waits for the GIL
  // Shared, so that closing while another thread waits ends after its wait.
  std::shared_ptr<Evaluator> evaluator_;
};

std::pair<std::string, std::vector<std::string>> TorchUnit(
    const std::string& problem, const std::string& source) {
  const Candidate candidate = ReadCandidate(source);
  if (candidate.status != Status::kOk || candidate.form != "torch") {
    throw std::invalid_argument("source: expected torch's form, got " +
                                candidate.form + " " + candidate.log);
  }
  const TorchUnitText unit = MakeTorchUnit(candidate, *ReadProblem(problem));
  return {unit.source + "\n" + unit.entry, unit.flags};
}

void BindRequest(py::module_* m) {
  const Request defaults;
  py::class_<Request>(*m, "Request")
      .def(py::init([](std::string problem, std::string source, int repetitions,
                       double compile_timeout_s, double run_timeout_s,
                       bool flush, bool fresh_process, bool diagnose,
                       bool rules, uint64_t seed) {
             Request request;
             request.problem = std::move(problem);
             request.source = std::move(source);
             request.repetitions = repetitions;
             request.compile_timeout_s = compile_timeout_s;
             request.run_timeout_s = run_timeout_s;
             request.flush = flush;
             request.fresh_process = fresh_process;
             request.diagnose = diagnose;
             request.rules = rules;
             request.seed = seed;
             return request;
           }),
           py::arg("problem"), py::arg("source"),
           py::arg("repetitions") = defaults.repetitions,
           py::arg("compile_timeout_s") = defaults.compile_timeout_s,
           py::arg("run_timeout_s") = defaults.run_timeout_s,
           py::arg("flush") = defaults.flush,
           py::arg("fresh_process") = defaults.fresh_process,
           py::arg("diagnose") = defaults.diagnose,
           py::arg("rules") = defaults.rules, py::arg("seed") = defaults.seed);
}

void BindResult(py::module_* m) {
  py::class_<Resources>(*m, "Resources")
      .def_readonly("registers", &Resources::registers)
      .def_readonly("shared_bytes", &Resources::shared_bytes)
      .def_readonly("spill_bytes", &Resources::spill_bytes);
  py::class_<Result>(*m, "Result")
      .def_property_readonly(
          "status", [](const Result& r) { return StatusName(r.status); })
      .def_readonly("stage", &Result::stage)
      .def_readonly("form", &Result::form)
      .def_readonly("log", &Result::log)
      .def_readonly("rule", &Result::rule)
      .def_readonly("evidence", &Result::evidence)
      .def_readonly("diagnosis", &Result::diagnosis)
      .def_readonly("max_abs_error", &Result::max_abs_error)
      .def_readonly("max_rel_error", &Result::max_rel_error)
      .def_readonly("mismatches", &Result::mismatches)
      .def_readonly("launches_compared", &Result::launches_compared)
      .def_readonly("times_us", &Result::times_us)
      .def_readonly("preparation", &Result::preparation)
      .def_readonly("first_call_us", &Result::first_call_us)
      .def_readonly("baseline_us", &Result::baseline_us)
      .def_readonly("speedup", &Result::speedup)
      .def_readonly("speedup_low", &Result::speedup_low)
      .def_readonly("speedup_high", &Result::speedup_high)
      .def_property_readonly(
          "baselines",
          [](const Result& r) { return py::object(ToDict(r)["baselines"]); },
          "By name: us, speedup, speedup_low, speedup_high, note; as a dict.")
      .def_property_readonly(
          "clocks",
          [](const Result& r) { return ToDict(r).attr("get")("clocks"); },
          "The GPU's state before and after, as a dict; None if unknown.")
      .def_readonly("device", &Result::device)
      .def_readonly("compile_s", &Result::compile_s)
      .def_readonly("queue_s", &Result::queue_s)
      .def_readonly("run_s", &Result::run_s)
      .def_readonly("cache_hit", &Result::cache_hit)
      .def_readonly("cache_miss", &Result::cache_miss)
      .def_readonly("road", &Result::road)
      .def_readonly("road_reason", &Result::road_reason)
      .def_readonly("resources", &Result::resources)
      .def_property_readonly(
          "replay",
          [](const Result& r) { return py::object(ToDict(r)["replay"]); },
          "What it was made from, as a dict; see docs/evaluator.md.")
      .def("to_dict", &ToDict, "The fields by name, as jaxkern-eval prints.")
      .def("to_json", &ToJson, "One line of JSON, as jaxkern-eval prints.")
      .def_static("from_json", &FromJson, py::arg("json"),
                  "The inverse of to_json; other keys are ignored.")
      .def(py::pickle(&ToJson, &FromJson));
}

void BindEvaluator(py::module_* m) {
  const Options defaults;
  using Released = py::call_guard<py::gil_scoped_release>;
  py::class_<ClosableEvaluator>(*m, "Evaluator")
      .def(py::init([](std::string device, int compile_workers, int run_workers,
                       std::string cache_dir, std::string compiler,
                       int64_t cache_bytes, int64_t memory_bytes,
                       int max_queued, bool explain_misses) {
             return std::make_unique<ClosableEvaluator>(
                 Options{std::move(device), compile_workers, run_workers,
                         std::move(cache_dir), std::move(compiler), cache_bytes,
                         memory_bytes, max_queued, explain_misses});
           }),
           Released(), py::arg("device") = defaults.device,
           py::arg("compile_workers") = defaults.compile_workers,
           py::arg("run_workers") = defaults.run_workers,
           py::arg("cache_dir") = defaults.cache_dir,
           py::arg("compiler") = defaults.compiler,
           py::arg("cache_bytes") = defaults.cache_bytes,
           py::arg("memory_bytes") = defaults.memory_bytes,
           py::arg("max_queued") = defaults.max_queued,
           py::arg("explain_misses") = defaults.explain_misses)
      .def("evaluate", &ClosableEvaluator::Evaluate, Released())
      .def("submit", &ClosableEvaluator::Submit, Released())
      .def("submit_then", &ClosableEvaluator::SubmitThen)
      .def("abandon", &ClosableEvaluator::Abandon, Released())
      .def("next", &ClosableEvaluator::Next, Released(),
           py::arg("timeout_s") = -1.0)
      .def("describe", &ClosableEvaluator::Describe, Released())
      .def("stats", &ClosableEvaluator::GetStats)
      .def("close", &ClosableEvaluator::Close, Released());
}

}  // namespace
}  // namespace jaxkern

PYBIND11_MODULE(_core, m) {
  m.doc() = "The C++ evaluator; use jaxkern.evaluator.";
  m.def("cache_directory", &jaxkern::CacheDirectory, py::arg("chosen"));
  m.def(
      "find_hopeless",
      [](const std::string& source, const std::string& signature)
          -> std::optional<std::tuple<std::string, std::string, std::string>> {
        const auto found = jaxkern::FindHopeless(source, signature);
        if (!found) return std::nullopt;
        return std::make_tuple(jaxkern::StatusName(found->status), found->stage,
                               found->log);
      },
      py::arg("source"), py::arg("signature") = "launch",
      "(status, stage, log) of a text that no compiler would take, else None.");
  m.def("torch_unit", &jaxkern::TorchUnit, py::arg("problem"),
        py::arg("source"),
        "What a compiler gets of a candidate in torch's form: text and flags.");
  jaxkern::BindRequest(&m);
  jaxkern::BindResult(&m);
  jaxkern::BindEvaluator(&m);
}
