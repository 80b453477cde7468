// The events of one profiler trace, in memory.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace penstock::overview {

/// Gives equal texts equal numbers. Stores each text once.
class Names {
 public:
  std::uint32_t number(std::string_view text);
  const std::string& text(std::uint32_t number) const { return *texts_[number]; }
  std::size_t size() const { return texts_.size(); }

 private:
  std::unordered_map<std::string_view, std::uint32_t> numbers_;  // keys are views of texts_
  std::vector<std::unique_ptr<const std::string>> texts_;
};

/// Answers a question about names once for each name.
template <typename Question>
class ForNames {
 public:
  ForNames(const Names& names, Question question) : names_(names), question_(question), answers_(names.size(), -1) {}
  bool operator()(std::uint32_t name) {
    signed char& answer = answers_[name];
    if (answer < 0) answer = question_(names_.text(name)) ? 1 : 0;
    return answer == 1;
  }

 private:
  const Names& names_;
  Question question_;
  std::vector<signed char> answers_;
};

/// The kind of an activity of a host thread. Times are in nanoseconds on the trace's clock.
enum class HostKind : std::uint8_t {
  step,        ///< ProfilerStep#N
  loader,      ///< enumerate(DataLoader)#NAME.__next__
  op,          ///< an operator of PyTorch
  annotation,  ///< record_function() of the program or of PyTorch
  runtime,     ///< a call of the CUDA or HIP runtime or driver
  python,      ///< a Python function (with_stack=True)
};

struct HostEvent {
  std::int64_t begin, end;
  std::uint64_t link;  ///< runtime: correlation; others: external id; 0 if there is none
  std::uint32_t name;
  std::uint32_t thread;  ///< position in Trace::threads
  HostKind kind;
};

enum class DeviceKind : std::uint8_t { kernel, memcpy, memset };

/// Work of a device. Quantities that the trace lacks are NaN.
struct DeviceEvent {
  std::int64_t begin, end;
  std::uint64_t correlation, external_id;
  std::uint32_t name;
  std::int32_t device, stream;
  float blocks_per_sm = std::numeric_limits<float>::quiet_NaN();
  float occupancy = std::numeric_limits<float>::quiet_NaN();  ///< estimated, in percent
  DeviceKind kind;
};

/// PyTorch 1.13 to 2.0 wrote the correlation also as external id.
inline bool has_external_id(const DeviceEvent& event) {
  return event.external_id != 0 && event.external_id != event.correlation;
}

/// An allocation (positive) or release (negative) of memory.
struct MemoryEvent {
  std::int64_t time, bytes;
  std::int64_t allocated, reserved;  ///< totals after it; -1 if not recorded
  std::int32_t device_type;          ///< 0: CPU, 1: CUDA (c10::DeviceType)
  std::int32_t device;
};

struct Device {
  std::int32_t id = 0;
  std::string name;
  double multiprocessors = 0;
  double memory_bytes = 0;
};

struct HostThread {
  std::string process, id;  ///< as in the trace
};

/// Events are in the order of the file.
struct Trace {
  std::filesystem::path path;
  Names names;
  std::vector<HostThread> threads;
  std::vector<HostEvent> host;
  std::vector<DeviceEvent> device;
  std::vector<MemoryEvent> memory;
  std::vector<Device> devices;
  std::optional<std::int64_t> rank, world_size;
  std::string backend;                ///< of torch.distributed; empty if not recorded
  std::int64_t base_nanoseconds = 0;  ///< added to times for those since 1970
  std::optional<std::int64_t> record_begin, record_end;
  std::uint64_t bytes = 0;         ///< of the decompressed text
  std::uint64_t events = 0;        ///< in the file, of any kind
  std::uint64_t skipped = 0;       ///< without name, time or a valid duration
  std::vector<std::string> notes;  ///< sentences about missing or broken parts
};

}  // namespace penstock::overview
