/// The right to build what a key names, among all processes that share a cache.
///
/// A lock on one byte of a file that everybody opens, so that keys need no
/// files of their own. The system lets go of it when its holder dies, however
/// it dies.
#ifndef JAXKERN_CORE_KEY_LOCK_H_
#define JAXKERN_CORE_KEY_LOCK_H_

#include <string>

#include "core/fd.h"

namespace jaxkern {

class KeyLock {
 public:
  /// `key` begins with hexadecimal digits. Opens the file, takes nothing.
  KeyLock(const std::string& file, const std::string& key);
  ~KeyLock();  ///< Lets go, whatever copies of the descriptor a fork has made.
  KeyLock(const KeyLock&) = delete;
  KeyLock& operator=(const KeyLock&) = delete;

  /// True if it is held now, or where there is nothing to hold: a file system
  /// without locks, a directory that became unwritable. Two that build the same
  /// thing then do no harm.
  bool Try();

  /// Tries until it is held, for at most `seconds`, or until `cancel` (-1:
  /// none) becomes readable.
  bool Await(double seconds, int cancel);

 private:
  bool Set(short type);

  Fd file_;
  long long at_;
};

}  // namespace jaxkern

#endif  // JAXKERN_CORE_KEY_LOCK_H_
