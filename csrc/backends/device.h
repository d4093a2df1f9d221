/// What a worker process needs from a device to run one candidate. It lives in
/// the worker executable only: a candidate that corrupts it costs one result.
#ifndef JAXKERN_BACKENDS_DEVICE_H_
#define JAXKERN_BACKENDS_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace jaxkern {

/// A candidate's trampoline: `arguments[i]` points at the i-th argument of
/// `launch` (a device pointer, int64_t, float or bool). Returns what it
/// returned, a cudaError_t.
using Entry = int (*)(void** arguments, void* stream);

/// What went wrong on the device; code 0 is success, else a cudaError_t.
struct DeviceError {
  int code = 0;
  std::string message;  ///< "cudaErrorIllegalAddress: an illegal ..."
  bool out_of_memory = false;
  bool fatal = false;  ///< the context is lost; this process must be replaced
  bool unsupported = false;  ///< the device lacks the feature `message` names
};

/// Equal pieces of the device's memory, at equal distances.
struct Pieces {
  char* first;
  size_t bytes;   ///< of each
  size_t stride;  ///< from one's start to the next one's
  size_t count;

  char* at(size_t i) const { return first + i * stride; }
};

/// Memory of the device, and other memory of it that holds the same.
struct Twins {
  const void* one;
  const void* other;
  size_t bytes;
};

/// Bytes of the device to be copied to the host.
struct Readback {
  void* to;
  const void* from;
  size_t bytes;
};

/// Launches that are measured together, back to back, each with arguments of
/// its own. Snapshots are taken in the stream's order directly behind the last
/// launch: what is not done by then is not in them.
struct Batch {
  Entry entry = nullptr;
  std::vector<void**> arguments;
  std::vector<Readback> snapshots;
};

/// How a batch is measured.
struct Mode {
  /// Caches emptied before; else as writing the arguments left them.
  bool flush = false;
  /// The device is kept busy while the host queues the batch, so that the
  /// host's launch latency falls out of the measured time. Else the device is
  /// idle before, and wall_us and late_us mean something.
  bool queue_ahead = false;
};

/// Device memory that a launch filled from the host's.
struct HostWrite {
  const void* to;
  size_t bytes;
};

/// What a batch took, all launches together.
struct Measurement {
  int returned = 0;      ///< the first error that `launch` gave back
  double device_us = 0;  ///< CUDA events on cuda, the host's clock on cpu
  double wall_us = 0;    ///< until a device-wide synchronise came back
  double late_us = 0;    ///< of this, after the stream had finished
  /// Processor time inside `launch`: of the host's code alone, and of kernels
  /// and the runtime; 0 where the device cannot tell.
  double host_us = 0, busy_us = 0;
  int64_t work = -1;  ///< kernels, memsets and device copies; -1: unknown
  /// Work on other streams that the given stream was not made to wait for.
  int64_t unjoined = 0;
  std::vector<HostWrite> host_writes;  ///< the first of them
};

class Device {
 public:
  virtual ~Device() = default;

  /// "cpu: <processor>, <threads> threads" or "cuda: <GPU>, sm_90, <PCI id>".
  virtual std::string Describe() const = 0;

  /// Memory that is free on the device, whoever uses the rest; -1: no notion.
  virtual int64_t FreeBytes() { return -1; }

  virtual DeviceError Allocate(size_t bytes, void** pointer) = 0;
  virtual void Free(void* pointer) = 0;
  /// Of a buffer, these bytes alone are what a kernel may touch.
  virtual void Expose(void* /*pointer*/, size_t /*bytes*/) {}
  virtual DeviceError CopyIn(void* device, const void* host, size_t bytes) = 0;
  virtual DeviceError CopyOut(void* host, const void* device, size_t bytes) = 0;
  virtual DeviceError Fill(void* device, int byte, size_t bytes) = 0;

  /// Bytes set in several pieces, in one call where the device can do that.
  virtual DeviceError FillPieces(const Pieces& pieces, int byte) {
    DeviceError error;
    for (size_t i = 0; i < pieces.count && error.code == 0; ++i) {
      error = Fill(pieces.at(i), byte, pieces.bytes);
    }
    return error;
  }

  /// Copies into each piece from an address of its own on the device. All lie
  /// where allocations could begin.
  virtual DeviceError CopyPiecesWithin(const Pieces& to,
                                       const std::vector<const char*>& from) {
    DeviceError error;  // of a device that shares the host's memory
    for (size_t i = 0; i < to.count && error.code == 0; ++i) {
      error = CopyIn(to.at(i), from[i], to.bytes);
    }
    return error;
  }

  /// Whether any byte of the pieces is not `byte`.
  virtual DeviceError FindOther(const std::vector<Pieces>& all, int byte,
                                bool* found) {
    std::vector<char> piece;
    for (const Pieces& pieces : all) {
      piece.resize(pieces.bytes);
      for (size_t i = 0; i < pieces.count; ++i) {
        const DeviceError error =
            CopyOut(piece.data(), pieces.at(i), pieces.bytes);
        if (error.code != 0) return error;
        // All equal the one before them, and the first is the byte.
        *found |= pieces.bytes > 0 &&
                  (piece[0] != static_cast<char>(byte) ||
                   std::memcmp(&piece[0], &piece[1], pieces.bytes - 1) != 0);
      }
    }
    return {};
  }

  /// Whether any two differ, or cannot be compared on the device.
  virtual DeviceError FindDifferent(const std::vector<Twins>& all,
                                    bool* found) {
    *found = false;  // of a device that shares the host's memory
    for (const Twins& twins : all) {
      *found |= std::memcmp(twins.one, twins.other, twins.bytes) != 0;
    }
    return {};
  }

  /// Launches, then a device-wide synchronise and an error query; an error
  /// that a launch swallowed is in the result.
  virtual DeviceError Measure(const Batch& batch, Mode mode,
                              Measurement* measured) = 0;

  /// Launches that may go into one batch for the clock's sake.
  virtual int MaxBatch() const { return 1; }

  /// Bytes per microsecond that reading memory cannot exceed after a flush; 0:
  /// unknown.
  virtual double ReadLimit() const { return 0; }

  /// Threads of this process that are not the device's own; -1: unknown.
  virtual int OtherThreads() const { return -1; }
};

/// Both return nullptr and set *error when the device cannot be used.
std::unique_ptr<Device> MakeCpuDevice(std::string* error);
std::unique_ptr<Device> MakeCudaDevice(std::string* error);

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_DEVICE_H_
