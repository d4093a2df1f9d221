// jaxkern-guard SCRATCH EVALUATOR: see core/guard.h.
#include "core/guard.h"

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "jaxkern-guard is started by the evaluator only\n");
    return 2;
  }
  return jaxkern::GuardMain(argv[1], std::atoi(argv[2]));
}
