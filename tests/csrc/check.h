/// A test is a function; a CHECK that fails says where, and ends the program
/// with an error once all tests have run.
#ifndef JAXKERN_TESTS_CHECK_H_
#define JAXKERN_TESTS_CHECK_H_

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace jaxkern::testing {

struct Test {
  const char* name;
  void (*run)();
};

inline std::vector<Test>& Tests() {
  static std::vector<Test> tests;
  return tests;
}

inline int& Failures() {
  static int failures = 0;
  return failures;
}

struct Register {
  Register(const char* name, void (*run)()) { Tests().push_back({name, run}); }
};

template <typename T>
std::string Show(const T& value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

inline void Report(bool ok, const char* file, int line,
                   const std::string& what) {
  if (ok) return;
  std::printf("%s:%d: %s\n", file, line, what.c_str());
  ++Failures();
}

/// A directory of the test's own, removed at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    if (mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ + "/" + name, std::ios::binary) << text;
    return path_ + "/" + name;
  }

 private:
  std::string path_ = "/tmp/jaxkern-test-XXXXXX";
};

inline int RunTests() {
  for (const Test& test : Tests()) {
    const int before = Failures();
    test.run();
    std::printf("%s %s\n", Failures() == before ? "ok  " : "FAIL", test.name);
    std::fflush(stdout);
  }
  return Failures() == 0 ? 0 : 1;
}

}  // namespace jaxkern::testing

#define TEST(name)                                                \
  static void name();                                             \
  static jaxkern::testing::Register register_##name{#name, name}; \
  static void name()

#define CHECK(condition) \
  jaxkern::testing::Report(condition, __FILE__, __LINE__, #condition)

#define CHECK_EQ(got, expected)                                                \
  do {                                                                         \
    const auto& got_value = (got);                                             \
    const auto& expected_value = (expected);                                   \
    jaxkern::testing::Report(got_value == expected_value, __FILE__, __LINE__,  \
                             #got " is " + jaxkern::testing::Show(got_value) + \
                                 ", expected " +                               \
                                 jaxkern::testing::Show(expected_value));      \
  } while (false)

/// The text contains a part.
#define CHECK_HAS(text, part)                                     \
  jaxkern::testing::Report(                                       \
      (text).find(part) != std::string::npos, __FILE__, __LINE__, \
      #text " is \"" + std::string(text) + "\", expected in it: " + (part))

/// The statement throws Exception, and its what() contains a part.
#define CHECK_THROWS(statement, Exception, part) \
  do {                                           \
    std::string message = "nothing thrown";      \
    try {                                        \
      statement;                                 \
    } catch (const Exception& error) {           \
      message = error.what();                    \
    }                                            \
    CHECK_HAS(message, part);                    \
  } while (false)

#endif  // JAXKERN_TESTS_CHECK_H_
