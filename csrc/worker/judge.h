/// From what the device says to how a job ended.
#ifndef JAXKERN_WORKER_JUDGE_H_
#define JAXKERN_WORKER_JUDGE_H_

#include <string>

#include "backends/device.h"
#include "core/protocol.h"

namespace jaxkern {

Event Failed(Status status, const std::string& text);

/// Whether Cheating means anything, from now on.
void EnforceRules(bool enforce);

/// The candidate broke a rule (docs/evaluator.md); the worker is not reused.
/// kOk where rules are not enforced.
Event Cheating(const std::string& rule, const std::string& evidence);

/// An output came from the host; kOk for the empty name.
Event JudgeHostWrite(const std::string& output);

/// Our own buffers not fitting is not the candidate's doing.
Event NotSetUp(const DeviceError& error);

/// What a launch's outcome means for the candidate; kOk if nothing happened.
Event Judge(const DeviceError& error, const Measurement& measured);

}  // namespace jaxkern

#endif  // JAXKERN_WORKER_JUDGE_H_
