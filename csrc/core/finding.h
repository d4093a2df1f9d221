/// How a worker says what the cpu device's checker found: in the text of a
/// fault, one line that begins with one of these marks. In it {F:1a2b} stands
/// for the file and line of that address in the candidate's library and
/// {L:1a2b} for the line alone.
#ifndef JAXKERN_CORE_FINDING_H_
#define JAXKERN_CORE_FINDING_H_

namespace jaxkern {

/// A fault. The run ended there.
inline constexpr char kFindingMark[] = "finding: ";

/// What may be a fault, in a run without one.
inline constexpr char kHintMark[] = "hint: ";

/// In a worker's environment: when the checker takes a kernel that still runs
/// for an endless one, in nanoseconds of the monotonic clock.
inline constexpr char kCheckUntil[] = "JAXKERN_CHECK_UNTIL";

}  // namespace jaxkern

#endif  // JAXKERN_CORE_FINDING_H_
