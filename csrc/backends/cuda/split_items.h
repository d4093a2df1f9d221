/// A translation unit as a list of what it declares. Read with a lexer and the
/// grammar of declarations; of bodies nothing is known but where they end.
#ifndef JAXKERN_BACKENDS_CUDA_SPLIT_ITEMS_H_
#define JAXKERN_BACKENDS_CUDA_SPLIT_ITEMS_H_

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/token_walk.h"

namespace jaxkern {

/// A declaration at namespace scope, or what stands between declarations.
struct Item {
  enum class Kind {
    kDirective,
    kScope,  ///< a namespace's or extern "C"'s beginning or end
    kFunction,
    kVariable,
    kType,   ///< classes, enumerations, other names of types
    kAlways  ///< using-directives and aliases of namespaces
  };
  Kind kind = Kind::kVariable;
  size_t begin = 0, end = 0;       ///< tokens
  size_t after_template = 0;       ///< begin, or where the parameters end
  size_t parameters = kNone;       ///< of a function: the (
  size_t body = kNone;             ///< of a function: the {, if it has one
  std::vector<std::string> names;  ///< that it declares
  std::set<std::string> words;     ///< of its head, macros expanded
  bool operation = false;          ///< an operator, which no name calls
  bool Has(const char* word) const { return words.count(word) != 0; }
  bool IsKernel() const { return Has("__global__"); }
  bool IsDevice() const;  ///< a function or variable that kernels may use
  bool IsConstant() const { return Has("const") || Has("constexpr"); }
};

struct Macro {
  bool function = false;    ///< with parameters
  std::vector<Token> body;  ///< without space
};

struct Items {
  std::vector<Item> items;
  std::multimap<std::string, Macro> macros;
  std::string obstacle;  ///< why the text was not understood; "" if it was
};

Items FindItems(const Tokens& tokens);

/// Every definition of a macro. *obstacle if there is one by which the text is
/// not what it seems.
std::multimap<std::string, Macro> FindMacros(const Tokens& tokens,
                                             std::string* obstacle);

/// All names in [begin, end) that are no member's, those in the macros that
/// are used there included.
std::set<std::string> Mentions(const Tokens& tokens, size_t begin, size_t end,
                               const std::multimap<std::string, Macro>& macros);

/// Index of the > (or >>>) that ends the template arguments that begin with the
/// < at `open`; kNone if that is not certain.
size_t ClosingAngle(const Tokens& tokens, size_t open);

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_CUDA_SPLIT_ITEMS_H_
