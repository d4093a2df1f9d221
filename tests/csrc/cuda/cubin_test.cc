// What is read from object files, and the container for cubins.
#include "backends/cuda/cubin.h"

#include <fstream>
#include <sstream>

#include "check.h"

namespace {

using jaxkern::DefinedSymbols;
using jaxkern::FatBinary;
using jaxkern::NameExpression;
using jaxkern::PutInSection;
using jaxkern::SectionStrings;

std::string ReadFile(const std::string& path) {
  std::ostringstream contents;
  contents << std::ifstream(path, std::ios::binary).rdbuf();
  return contents.str();
}

__attribute__((section("jaxkern_test_names"), used)) const char kNames[] =
    "one\0two";

TEST(SymbolsAndStringsOfAnObject) {
  const std::string self = ReadFile("/proc/self/exe");
  const auto symbols = DefinedSymbols(self);
  CHECK(symbols.has_value());
  CHECK(symbols->count("main") == 1);
  CHECK(symbols->count("printf") == 0);
  const auto names = SectionStrings(self, "jaxkern_test_names");
  CHECK_EQ(names.size(), 2u);
  CHECK_EQ(names[1], "two");
  CHECK(SectionStrings(self, "nowhere").empty());
}

TEST(ASectionTakesWhatItHasRoomFor) {
  std::string self = ReadFile("/proc/self/exe");
  const std::string before = self;
  CHECK(!PutInSection("jaxkern_test_names", std::string(9, 'x'), &self));
  CHECK(!PutInSection("nowhere", "x", &self));
  CHECK(self == before);
  CHECK(PutInSection("jaxkern_test_names", "six", &self));
  CHECK_EQ(self.size(), before.size());
  const auto names = SectionStrings(self, "jaxkern_test_names");
  CHECK_EQ(names[0], "six");
}

TEST(WhatIsNoObjectHasNoSymbols) {
  std::string self = ReadFile("/proc/self/exe");
  CHECK(!DefinedSymbols("").has_value());
  CHECK(!DefinedSymbols(self.substr(0, 64)).has_value());
  CHECK(!DefinedSymbols(self.substr(0, self.size() - 1)).has_value());
  for (size_t i = 32; i < 64; ++i) {  // where sections are, and how many
    std::string torn = self;
    torn[i] = '\x7f';
    DefinedSymbols(torn);
    SectionStrings(torn, "jaxkern_test_names");
  }
}

TEST(ExpressionsNameTemplatesAsTheyAreCalled) {
  CHECK_EQ(NameExpression("_Z1kIfLi4EEvPT_i"), "k<float, 4>");
  CHECK_EQ(NameExpression("_ZN1a1kIN1b1SELb1EEEvT_"), "a::k<b::S, true>");
  CHECK_EQ(NameExpression("_Z1kPfi"), "k");
  CHECK_EQ(NameExpression("plain"), "");
}

TEST(TheContainerIsPaddedAndSaysHowLongItIs) {
  const std::string binary = FatBinary(
      "\x7f"
      "ELF12345",
      "90a");
  CHECK_EQ(binary.size(), 16u + 64u + 16u);
  CHECK_EQ(static_cast<int>(binary[8]), 64 + 16);
  CHECK_EQ(static_cast<int>(binary[16 + 28]), 90);
}

}  // namespace
int main() { return jaxkern::testing::RunTests(); }
