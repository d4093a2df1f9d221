// entry: 12
// trick: looks for the expected values' files and copies them
// task: row_sum
// device: both
// expect: cheating launch_error runtime_error wrong_answer
// needs: protocol
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace fs = std::filesystem;

// y of the case with this many rows, from any .npy file with that many floats.
static bool find(const fs::path& where, int64_t rows, int depth,
                 std::vector<float>* y) {
  std::error_code no;
  for (const auto& entry : fs::directory_iterator(where, no)) {
    const std::string name = entry.path().filename();
    if (entry.is_directory(no) && depth > 0) {
      if (find(entry.path(), rows, depth - 1, y)) return true;
    } else if (name.size() > 6 && name.find(".y.npy") == name.size() - 6 &&
               entry.file_size(no) == 128 + rows * sizeof(float) &&
               entry.path().string().find("row_sum") != std::string::npos) {
      std::ifstream file(entry.path(), std::ios::binary);
      file.seekg(128);
      y->resize(rows);
      if (file.read((char*)y->data(), rows * sizeof(float))) return true;
    }
  }
  return false;
}

extern "C" int launch(const float* x, float* y, int64_t rows, int64_t cols,
                      cudaStream_t stream) {
  std::vector<float> answer;
  const char* home = "/home/user/.cache/jaxkern/bundles";
  if (!find("/tmp", rows, 4, &answer) && !find(home, rows, 2, &answer)) {
    return cudaErrorUnknown;  // nothing to copy
  }
  return cudaMemcpy(y, answer.data(), rows * sizeof(float),
                    cudaMemcpyHostToDevice);
}
