/// Where jaxkern's own files lie: the worker, the guard, headers for the cpu
/// device's compiler.
#ifndef JAXKERN_CORE_NATIVE_H_
#define JAXKERN_CORE_NATIVE_H_

#include <string>

namespace jaxkern {

/// The directory that holds bin/jaxkern-worker, bin/jaxkern-guard and include/.
/// $JAXKERN_NATIVE if set; else found relative to the file this code was loaded
/// from (module, executable), in a wheel, an install prefix or a build tree.
/// Throws std::invalid_argument naming the places that were searched.
std::string NativeDirectory();

/// The directory of the module or executable this code was loaded from; in a
/// wheel that is <site-packages>/jaxkern for the Python module.
std::string LoadedFrom();

}  // namespace jaxkern

#endif  // JAXKERN_CORE_NATIVE_H_
