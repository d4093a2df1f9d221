/// The C++ library that candidates are linked with.
#ifndef JAXKERN_CORE_CXX_LIBRARY_H_
#define JAXKERN_CORE_CXX_LIBRARY_H_

#include <string>

namespace jaxkern {

/// Path of the shared libstdc++ that `compiler` knows, else of the one that
/// this process uses; "" if there is neither.
///
/// Linked before the compiler's own choice it leaves nothing for a static copy
/// to do. Such a copy (-static-libstdc++ in a wrapper, or an installation
/// without libstdc++.so) would read, open and export on the candidate's
/// account, and its variables would lie among the candidate's.
std::string FindCxxLibrary(const std::string& compiler);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_CXX_LIBRARY_H_
