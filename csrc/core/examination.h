/// What passes between the evaluator and a worker that compute-sanitizer runs:
/// files in the worker's directory.
#ifndef JAXKERN_CORE_EXAMINATION_H_
#define JAXKERN_CORE_EXAMINATION_H_

namespace jaxkern {

inline constexpr char kJobFile[] = "job.json";   ///< JobText, see protocol.h
inline constexpr char kInputsFile[] = "inputs";  ///< laid out as the job says
inline constexpr char kLibraryFile[] = "kernel.so";

/// Written by the worker: empty once it has its device and before it loads the
/// library; then for each array of each case, before the case runs, one line
/// with the case, the argument and the address, as decimal numbers.
inline constexpr char kArraysFile[] = "arrays";

}  // namespace jaxkern

#endif  // JAXKERN_CORE_EXAMINATION_H_
