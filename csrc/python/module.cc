// jaxkern._core: the evaluator in Python. Translates, and releases the GIL.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/cache.h"
#include "jaxkern/evaluator.h"

namespace py = pybind11;

namespace jaxkern {
namespace {

/// Lets Ctrl-C through while a thread waits without the GIL.
void CheckSignals() {
  const py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

/// Evaluator with an end that can be called; children must not wait for the
/// garbage collector.
class ClosableEvaluator {
 public:
  explicit ClosableEvaluator(const Options& options)
      : evaluator_(std::make_shared<Evaluator>(options)) {}

  std::vector<Result> Evaluate(const std::vector<Request>& requests) {
    return Open()->Evaluate(requests, CheckSignals);
  }
  uint64_t Submit(const Request& request) { return Open()->Submit(request); }

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
  void Close() { evaluator_.reset(); }

 private:
  std::shared_ptr<Evaluator> Open() const {
    if (!evaluator_) throw py::value_error("the evaluator is closed");
    return evaluator_;
  }

  // Shared, so that closing while another thread waits ends after its wait.
  std::shared_ptr<Evaluator> evaluator_;
};

py::dict ToDict(const Result& result) {
  const py::object loads = py::module_::import("json").attr("loads");
  return loads(ToJson(result));
}

std::string Repr(const Result& result) {
  std::string text = std::string("Result(status='") +
                     StatusName(result.status) + "', stage='" + result.stage +
                     "'";
  if (result.speedup > 0) {
    text += ", speedup=" + std::string(py::str(py::float_(result.speedup)));
  }
  if (!result.log.empty()) {
    text += ", log=" + std::string(py::repr(py::str(result.log)));
  }
  return text + ")";
}

Status ParseStatus(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(Status::kInfraError); ++i) {
    if (name == StatusName(static_cast<Status>(i))) {
      return static_cast<Status>(i);
    }
  }
  throw py::value_error("status: expected a status, got '" + name + "'");
}

Replay ReplayFromDict(const py::dict& d) {
  Replay r;
  r.request.problem = d["problem"].cast<std::string>();
  r.request.source = d["source"].cast<std::string>();
  r.request.seed = std::stoull(d["seed"].cast<std::string>());
  r.request.repetitions = d["repetitions"].cast<int>();
  r.request.flush = d["flush"].cast<bool>();
  r.request.compile_timeout_s = d["compile_timeout_s"].cast<double>();
  r.request.run_timeout_s = d["run_timeout_s"].cast<double>();
  r.problem_hash = d["problem_hash"].cast<std::string>();
  r.device = d["device"].cast<std::string>();
  r.environment = d["environment"].cast<std::string>();
  return r;
}

/// The inverse of ToDict, for pickle.
Result FromDict(const py::dict& d) {
  Result r;
  r.status = ParseStatus(d["status"].cast<std::string>());
  r.stage = d["stage"].cast<std::string>();
  r.log = d["log"].cast<std::string>();
  r.max_abs_error = d["max_abs_error"].cast<double>();
  r.max_rel_error = d["max_rel_error"].cast<double>();
  r.mismatches = d["mismatches"].cast<int64_t>();
  r.rule = d["rule"].cast<std::string>();
  r.evidence = d["evidence"].cast<std::string>();
  r.launches_compared = d["launches_compared"].cast<int>();
  r.times_us = d["times_us"].cast<std::vector<double>>();
  r.baseline_us = d["baseline_us"].cast<double>();
  r.speedup = d["speedup"].cast<double>();
  r.speedup_low = d["speedup_low"].cast<double>();
  r.speedup_high = d["speedup_high"].cast<double>();
  r.device = d["device"].cast<std::string>();
  r.compile_s = d["compile_s"].cast<double>();
  r.queue_s = d["queue_s"].cast<double>();
  r.run_s = d["run_s"].cast<double>();
  r.cache_hit = d["cache_hit"].cast<bool>();
  const auto resources = d["resources"].cast<py::dict>();
  r.resources.registers = resources["registers"].cast<int>();
  r.resources.shared_bytes = resources["shared_bytes"].cast<int>();
  r.resources.spill_bytes = resources["spill_bytes"].cast<int>();
  r.replay = ReplayFromDict(d["replay"].cast<py::dict>());
  return r;
}

void BindRequest(py::module_* m) {
  const Request defaults;
  py::class_<Request>(*m, "Request")
      .def(py::init([](std::string problem, std::string source, int repetitions,
                       double compile_timeout_s, double run_timeout_s,
                       bool flush, uint64_t seed) {
             Request request;
             request.problem = std::move(problem);
             request.source = std::move(source);
             request.repetitions = repetitions;
             request.compile_timeout_s = compile_timeout_s;
             request.run_timeout_s = run_timeout_s;
             request.flush = flush;
             request.seed = seed;
             return request;
           }),
           py::arg("problem"), py::arg("source"),
           py::arg("repetitions") = defaults.repetitions,
           py::arg("compile_timeout_s") = defaults.compile_timeout_s,
           py::arg("run_timeout_s") = defaults.run_timeout_s,
           py::arg("flush") = defaults.flush, py::arg("seed") = defaults.seed);
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
      .def_readonly("log", &Result::log)
      .def_readonly("max_abs_error", &Result::max_abs_error)
      .def_readonly("max_rel_error", &Result::max_rel_error)
      .def_readonly("mismatches", &Result::mismatches)
      .def_readonly("rule", &Result::rule)
      .def_readonly("evidence", &Result::evidence)
      .def_readonly("launches_compared", &Result::launches_compared)
      .def_readonly("times_us", &Result::times_us)
      .def_readonly("baseline_us", &Result::baseline_us)
      .def_readonly("speedup", &Result::speedup)
      .def_readonly("speedup_low", &Result::speedup_low)
      .def_readonly("speedup_high", &Result::speedup_high)
      .def_readonly("device", &Result::device)
      .def_readonly("compile_s", &Result::compile_s)
      .def_readonly("queue_s", &Result::queue_s)
      .def_readonly("run_s", &Result::run_s)
      .def_readonly("cache_hit", &Result::cache_hit)
      .def_readonly("resources", &Result::resources)
      .def_property_readonly("replay",
                             [](const Result& r) -> py::object {
                               const py::dict fields = ToDict(r);
                               return fields["replay"];
                             })
      .def("to_dict", &ToDict, "The fields by name, as jaxkern-eval prints.")
      .def("__repr__", &Repr)
      .def(py::pickle(&ToDict, &FromDict));
}

void BindEvaluator(py::module_* m) {
  const Options defaults;
  using Released = py::call_guard<py::gil_scoped_release>;
  py::class_<ClosableEvaluator>(*m, "Evaluator")
      .def(py::init([](std::string device, int compile_workers, int run_workers,
                       std::string cache_dir, std::string compiler,
                       int64_t cache_bytes) {
             return std::make_unique<ClosableEvaluator>(Options{
                 std::move(device), compile_workers, run_workers,
                 std::move(cache_dir), std::move(compiler), cache_bytes});
           }),
           Released(), py::arg("device") = defaults.device,
           py::arg("compile_workers") = defaults.compile_workers,
           py::arg("run_workers") = defaults.run_workers,
           py::arg("cache_dir") = defaults.cache_dir,
           py::arg("compiler") = defaults.compiler,
           py::arg("cache_bytes") = defaults.cache_bytes)
      .def("evaluate", &ClosableEvaluator::Evaluate, Released())
      .def("submit", &ClosableEvaluator::Submit, Released())
      .def("next", &ClosableEvaluator::Next, Released(),
           py::arg("timeout_s") = -1.0)
      .def("describe", &ClosableEvaluator::Describe, Released())
      .def("close", &ClosableEvaluator::Close, Released());
}

}  // namespace
}  // namespace jaxkern

PYBIND11_MODULE(_core, m) {
  m.doc() = "The C++ evaluator; use jaxkern.evaluator.";
  m.def("cache_directory", &jaxkern::CacheDirectory, py::arg("chosen"));
  jaxkern::BindRequest(&m);
  jaxkern::BindResult(&m);
  jaxkern::BindEvaluator(&m);
}
