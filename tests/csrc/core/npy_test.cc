#include "core/npy.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "bundle.h"
#include "check.h"

using jaxkern::Dtype;
using jaxkern::testing::FloatDict;
using jaxkern::testing::FloatNpy;
using jaxkern::testing::Npy;
using jaxkern::testing::TemporaryDirectory;

namespace {

std::vector<char> Read(const std::string& path, Dtype dtype,
                       const jaxkern::Shape& shape) {
  const jaxkern::NpyFile file = jaxkern::OpenNpy(path, dtype, shape);
  std::vector<char> bytes(file.bytes);
  jaxkern::ReadNpy(file, [&](size_t at, const char* piece, size_t n) {
    std::memcpy(bytes.data() + at, piece, n);
  });
  return bytes;
}

/// Reading this text as float32 (2,) fails with a message that has `part`.
void CheckRefused(const std::string& text, const std::string& part) {
  const TemporaryDirectory directory;
  const std::string path = directory.Write("x.npy", text);
  CHECK_THROWS(Read(path, Dtype::kFloat32, {2}), std::invalid_argument,
               "x.npy: " + part);
}

}  // namespace

TEST(ValuesAreRead) {
  const TemporaryDirectory directory;
  const std::string path = directory.Write("x.npy", FloatNpy({1.5f, -2.0f}));
  const std::vector<char> bytes = Read(path, Dtype::kFloat32, {2});
  float values[2];
  CHECK_EQ(bytes.size(), sizeof values);
  std::memcpy(values, bytes.data(), sizeof values);
  CHECK_EQ(values[0], 1.5f);
  CHECK_EQ(values[1], -2.0f);
}

TEST(ScalarsAndMatricesAndEmptyArraysAreRead) {
  const TemporaryDirectory directory;
  const std::vector<float> six = {1, 2, 3, 4, 5, 6};
  CHECK_EQ(Read(directory.Write("a", Npy<float>(FloatDict("()"), {1})),
                Dtype::kFloat32, {})
               .size(),
           size_t{4});
  CHECK_EQ(Read(directory.Write("b", Npy(FloatDict("(2, 3)"), six)),
                Dtype::kFloat32, {2, 3})
               .size(),
           size_t{24});
  CHECK_EQ(Read(directory.Write("c", Npy<float>(FloatDict("(0,)"), {})),
                Dtype::kFloat32, {0})
               .size(),
           size_t{0});
}

TEST(Bfloat16IsStoredAsUint16) {
  const TemporaryDirectory directory;
  const std::string path = directory.Write(
      "x",
      Npy<uint16_t>("{'descr': '<u2', 'fortran_order': False, 'shape': (1,), }",
                    {0x3F80}));
  CHECK_EQ(Read(path, Dtype::kBfloat16, {1}).size(), size_t{2});
}

TEST(AnotherShapeIsRefused) {
  CheckRefused(FloatNpy({1, 2, 3}), "shape: expected (2,), got (3,)");
}

TEST(AnotherDtypeIsRefused) {
  CheckRefused(
      Npy<double>("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }",
                  {1, 2}),
      "dtype: expected '<f4' (float32), got '<f8'");
}

TEST(TornFilesAreRefused) {
  const std::string whole = FloatNpy({1, 2});
  CheckRefused(whole.substr(0, whole.size() - 1),
               "contents: expected 8 bytes, got 7");
  CheckRefused(whole.substr(0, 20), "contents: expected a header");
  CheckRefused(whole + "x", "contents: expected 8 bytes, got 9");
  CheckRefused("PK\x03\x04", "contents: expected a .npy file");
  CheckRefused("", "contents: expected a .npy file");
}

TEST(GarbledHeadersAreRefused) {
  CheckRefused(Npy<float>("{}", {1, 2}), "header: expected a field 'descr'");
  CheckRefused(Npy<float>(FloatDict("(2, x)"), {1, 2}),
               "shape: expected a tuple of integers");
  CheckRefused(Npy<float>(FloatDict("(-2,)"), {1, 2}),
               "shape: expected a tuple of integers");
}

TEST(AMissingFileIsRefused) {
  CHECK_THROWS(Read("/nowhere/x.npy", Dtype::kFloat32, {2}),
               std::invalid_argument, "/nowhere/x.npy: file: expected");
}

TEST(LargeArraysComeInPieces) {
  std::vector<float> values(700000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const TemporaryDirectory directory;
  const std::string path = directory.Write("x.npy", FloatNpy(values));
  const jaxkern::NpyFile file =
      jaxkern::OpenNpy(path, Dtype::kFloat32, {700000});
  size_t largest = 0;
  jaxkern::ReadNpy(file, [&](size_t, const char*, size_t n) {
    largest = std::max(largest, n);
  });
  CHECK_EQ(largest, size_t{1} << 20);
  const std::vector<char> bytes = Read(path, Dtype::kFloat32, {700000});
  CHECK(std::memcmp(bytes.data(), values.data(), bytes.size()) == 0);
}

TEST(AFileCutShortAfterItsHeaderWasReadIsRefused) {
  const TemporaryDirectory directory;
  const std::string whole = FloatNpy({1, 2});
  const std::string path = directory.Write("x.npy", whole);
  const jaxkern::NpyFile file = jaxkern::OpenNpy(path, Dtype::kFloat32, {2});
  directory.Write("x.npy", whole.substr(0, whole.size() - 3));
  CHECK_THROWS(jaxkern::ReadNpy(file, [](size_t, const char*, size_t) {}),
               std::invalid_argument, "contents: expected 8 bytes, got 5");
}

int main() { return jaxkern::testing::RunTests(); }
