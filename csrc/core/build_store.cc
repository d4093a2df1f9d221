#include "core/build_store.h"

#include <nlohmann/json.hpp>

#include "core/memory_file.h"
#include "core/normalise.h"
#include "core/sha256.h"

namespace jaxkern {
namespace {

constexpr size_t kShort = 16;  // digits, of hashes that only tell things apart

std::string ShortHash(const std::string& text) {
  return Sha256(text).substr(0, kShort);
}

/// In the cache, a build is one line of JSON and then the shared object.
std::string Serialize(const Build& build, const std::string& source,
                      const std::string& library) {
  const nlohmann::json head = {
      {"status", static_cast<int>(build.status)},
      {"stage", build.stage},
      {"log", build.log},
      {"road", build.road},
      {"road_reason", build.road_reason},
      {"source", source},
      {"resources",
       {build.resources.registers, build.resources.shared_bytes,
        build.resources.spill_bytes}},
  };
  // A candidate's bytes need not be UTF-8.
  return head.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n" + library;
}

nlohmann::json ParseHead(const std::string& value) {
  return nlohmann::json::parse(value.substr(0, value.find('\n')), nullptr,
                               /*allow_exceptions=*/false);
}

Build Parse(const std::string& value) {
  const size_t line = value.find('\n');
  const auto head = nlohmann::json::parse(value.substr(0, line));
  Build build;
  build.status = static_cast<Status>(head.at("status").get<int>());
  build.stage = head.at("stage");
  build.log = head.at("log");
  build.road = head.value("road", "");
  build.road_reason = head.value("road_reason", "");
  build.resources = {head.at("resources")[0], head.at("resources")[1],
                     head.at("resources")[2]};
  if (build.status == Status::kOk) {
    build.library =
        MakeSealedMemory(value.data() + line + 1, value.size() - line - 1);
    if (!build.library) {
      build.status = Status::kInfraError;
      build.log = "no memory for a library";
    }
  }
  return build;
}

}  // namespace

bool IsFinal(Status status) {
  return status == Status::kOk || status == Status::kCompileError ||
         status == Status::kLinkError || status == Status::kUnsupported;
}

BuildStore::BuildStore(Cache* cache, const Toolchain& toolchain)
    : cache_(cache),
      fingerprint_(toolchain.Fingerprint()),
      keeps_lines_(toolchain.KeepsLines()),
      log_(cache->Beside("log")) {
  for (const auto& [name, value] : toolchain.Parts()) {
    parts_[name] = ShortHash(value);
  }
}

BuildKey BuildStore::KeyOf(const std::string& text,
                           const std::vector<std::string>& flags,
                           bool sandboxed) const {
  std::string identity = fingerprint_ + (sandboxed ? "" : "open");
  for (const auto& [name, hash] : parts_) identity += "\n" + name + hash;
  for (const std::string& flag : flags) identity += "\n" + flag;
  BuildKey key;
  key.exact = Sha256("exact\n" + text + '\0' + identity);
  const auto form = keeps_lines_ ? std::nullopt : Normalise(text);
  if (form) key.form = Sha256("form\n" + *form + '\0' + identity);
  key.record = {key.Name(), ShortHash(form.value_or(text)), parts_};
  key.record.parts["sandbox"] = sandboxed ? "files" : "none";
  for (const std::string& flag : flags) {
    key.record.parts["libraries"] += ShortHash(flag);
  }
  return key;
}

std::optional<Build> BuildStore::Find(const BuildKey& key) {
  auto value = key.form.empty() ? std::nullopt : cache_->Get(key.form);
  if (!value) value = cache_->Get(key.exact);
  if (!value) return std::nullopt;
  Build build = Parse(*value);
  build.cache_hit = true;
  return build;
}

Build BuildStore::Store(const BuildKey& key, const std::string& source,
                        const Build& build, const std::string& library) {
  const std::string value = Serialize(build, source, library);
  const bool succeeded = build.status == Status::kOk;
  BuildRecord record = key.record;
  record.key = succeeded ? key.Name() : key.exact;
  if (cache_->Put(record.key, value)) log_.Append(record);
  return Parse(value);
}

std::string BuildStore::WhyMissing(const BuildKey& key,
                                   const std::string& source) {
  const auto source_of =
      [this](const std::string& stored) -> std::optional<std::string> {
    const auto value = cache_->Get(stored, /*use=*/false);
    if (!value) return std::nullopt;
    const nlohmann::json head = ParseHead(*value);
    const auto found = head.find("source");
    if (found == head.end() || !found->is_string()) return std::nullopt;
    return found->get<std::string>();
  };
  BuildRecord wanted = key.record;
  const std::string why = log_.Explain(wanted, source, source_of);
  if (key.form.empty() || why.rfind("layout", 0) != 0) return why;
  wanted.key = key.exact;  // it may be this text's own refusal that has gone
  return log_.Explain(wanted, source, source_of);
}

}  // namespace jaxkern
