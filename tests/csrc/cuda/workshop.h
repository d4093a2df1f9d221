/// A place to build in without a builder, and without a sandbox.
#ifndef JAXKERN_TESTS_CUDA_WORKSHOP_H_
#define JAXKERN_TESTS_CUDA_WORKSHOP_H_

#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "backends/toolchain.h"
#include "core/subprocess.h"

namespace jaxkern {
namespace testing {

class TestWorkshop final : public Workshop {
 public:
  explicit TestWorkshop(std::string directory, double timeout_s = 60)
      : directory_(std::move(directory)) {
    std::filesystem::create_directories(directory_);
    deadline_ = std::chrono::steady_clock::now() +
                std::chrono::duration_cast<std::chrono::nanoseconds>(
                    std::chrono::duration<double>(timeout_s));
  }

  const std::string& Directory() const override { return directory_; }
  std::string KeptDirectory() const override {
    std::string directory = directory_ + "/../kept-XXXXXX";
    return mkdtemp(directory.data()) != nullptr
               ? std::filesystem::canonical(directory).string()
               : "";
  }
  std::chrono::steady_clock::time_point Deadline() const override {
    return deadline_;
  }
  int Cancel() const override { return -1; }
  Ended Run(const std::vector<std::string>& argv,
            const std::string& directory) const override {
    const std::chrono::duration<double> left =
        deadline_ - std::chrono::steady_clock::now();
    return jaxkern::Run(Of(argv, directory), std::max(left.count(), 0.0));
  }
  bool Start(const std::vector<std::string>& argv, const std::string& directory,
             int channel, Subprocess* child) const override {
    Command command = Of(argv, directory);
    command.channel = channel;
    std::string error;
    return Spawn(command, child, &error);
  }

 private:
  static Command Of(const std::vector<std::string>& argv,
                    const std::string& directory) {
    Command command;
    command.argv = argv;
    command.directory = directory;
    command.environment = ScrubbedEnvironment();
    command.environment.push_back("TMPDIR=" + directory);
    return command;
  }

  const std::string directory_;
  std::chrono::steady_clock::time_point deadline_;
};

}  // namespace testing
}  // namespace jaxkern

#endif  // JAXKERN_TESTS_CUDA_WORKSHOP_H_
