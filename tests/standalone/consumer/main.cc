// consumer BUNDLE KERNEL.cu: prints the verdict and succeeds if it is "ok".
#include <jaxkern/evaluator.h>

#include <fstream>
#include <iostream>
#include <sstream>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  jaxkern::Options options;
  options.device = "cpu";
  jaxkern::Evaluator evaluator(options);
  std::ostringstream source;
  source << std::ifstream(argv[2]).rdbuf();
  jaxkern::Request request;
  request.problem = argv[1];
  request.source = source.str();
  request.repetitions = 20;
  const jaxkern::Result result = evaluator.Evaluate({request})[0];
  std::cout << argv[2] << ": " << jaxkern::StatusName(result.status) << ", "
            << result.speedup << " times as fast as the baseline\n"
            << result.log;
  return result.status == jaxkern::Status::kOk ? 0 : 1;
}
