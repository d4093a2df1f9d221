#include "core/npy.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace jaxkern {
namespace {

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicBytes = 6;
constexpr size_t kPiece = size_t{1} << 20;

[[noreturn]] void Fail(const std::string& path, const std::string& what,
                       const std::string& expected, const std::string& got) {
  throw std::invalid_argument(path + ": " + what + ": expected " + expected +
                              ", got " + got);
}

/// The text after `'key':` in the header, which is a Python dict literal.
std::string Value(const std::string& path, const std::string& header,
                  const std::string& key) {
  const size_t at = header.find("'" + key + "'");
  const size_t colon = at == std::string::npos ? at : header.find(':', at);
  if (colon == std::string::npos) {
    Fail(path, "header", "a field '" + key + "'", header);
  }
  const size_t value = header.find_first_not_of(' ', colon + 1);
  return value == std::string::npos ? "" : header.substr(value);
}

Shape ParseShape(const std::string& path, const std::string& text) {
  Shape shape;
  const char* p = text.c_str();
  if (*p != '(') Fail(path, "shape", "a tuple", text);
  for (++p; *p != ')';) {
    char* end = nullptr;
    errno = 0;
    shape.push_back(std::strtoll(p, &end, 10));
    if (end == p || errno != 0 || shape.back() < 0) {
      Fail(path, "shape", "a tuple of integers", text);
    }
    p = end + std::strspn(end, ", ");
  }
  return shape;
}

/// The header's text; leaves `file` at the first element.
std::string ReadHeader(const std::string& path, std::ifstream* file) {
  unsigned char start[kMagicBytes + 2];
  if (!file->read(reinterpret_cast<char*>(start), sizeof start) ||
      std::memcmp(start, kMagic, kMagicBytes) != 0) {
    Fail(path, "contents", "a .npy file", "no NumPy magic");
  }
  const int version = start[kMagicBytes];
  const int length_bytes = version == 1 ? 2 : 4;
  unsigned char raw[4] = {};
  file->read(reinterpret_cast<char*>(raw), length_bytes);
  const size_t length =
      raw[0] | raw[1] << 8 | raw[2] << 16 | size_t{raw[3]} << 24;
  if (version < 1 || version > 3 || length > (1 << 20)) {
    Fail(path, "contents", "a .npy file of version 1 to 3",
         "version " + std::to_string(version));
  }
  std::string header(length, '\0');
  if (!file->read(header.data(), length)) {
    Fail(path, "contents", "a header", "the end of the file");
  }
  return header;
}

/// Checks what is left of `file` before memory is taken for it: a few bytes may
/// claim to be terabytes. Where it starts.
size_t RequireBytes(const std::string& path, std::ifstream* file,
                    size_t bytes) {
  const std::streamoff start = file->tellg();
  file->seekg(0, std::ios::end);
  const std::streamoff left = file->tellg() - std::streampos(start);
  if (start < 0 || left < 0 || static_cast<size_t>(left) != bytes) {
    Fail(path, "contents", std::to_string(bytes) + " bytes",
         std::to_string(left));
  }
  return static_cast<size_t>(start);
}

}  // namespace

std::string ShapeString(const Shape& shape) {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  }
  return text + (shape.size() == 1 ? ",)" : ")");
}

int64_t Elements(const Shape& shape) {
  int64_t product = 1;
  for (int64_t extent : shape) product *= extent;
  return product;
}

NpyFile OpenNpy(const std::string& path, Dtype dtype, const Shape& shape) {
  std::ifstream file(path, std::ios::binary);
  if (!file) Fail(path, "file", "a readable file", std::strerror(errno));
  const std::string header = ReadHeader(path, &file);

  const std::string descr = Value(path, header, "descr");
  const std::string wanted = std::string("'") + Info(dtype).npy + "'";
  if (descr.compare(0, wanted.size(), wanted) != 0) {
    Fail(path, "dtype", wanted + " (" + Info(dtype).name + ")",
         descr.substr(0, descr.find(',')));
  }
  const Shape found = ParseShape(path, Value(path, header, "shape"));
  if (found != shape) {
    Fail(path, "shape", ShapeString(shape), ShapeString(found));
  }
  if (Value(path, header, "fortran_order").compare(0, 5, "False") != 0 &&
      shape.size() > 1) {
    Fail(path, "order", "C order", "Fortran order");
  }
  const size_t size = Elements(shape) * Info(dtype).bytes;
  return {path, RequireBytes(path, &file, size), size};
}

void ReadNpy(const NpyFile& npy, const PieceTaker& take) {
  std::ifstream file(npy.path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(npy.start));
  std::vector<char> piece(std::min(kPiece, npy.bytes));
  for (size_t at = 0; at < npy.bytes; at += piece.size()) {
    piece.resize(std::min(kPiece, npy.bytes - at));
    if (!file.read(piece.data(), static_cast<std::streamsize>(piece.size()))) {
      Fail(npy.path, "contents", std::to_string(npy.bytes) + " bytes",
           std::to_string(at + static_cast<size_t>(file.gcount())));
    }
    take(at, piece.data(), piece.size());
  }
}

}  // namespace jaxkern
