/// Which threads are a candidate's. A GPU's driver has threads of its own, and
/// starts them when it pleases, so that counting all of them tells nothing.
#ifndef JAXKERN_BACKENDS_CUDA_THREADS_H_
#define JAXKERN_BACKENDS_CUDA_THREADS_H_

namespace jaxkern {

/// Threads that run and that neither the driver nor its libraries started; -1
/// if this executable does not see how threads are started.
int CandidateThreads();

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_CUDA_THREADS_H_
