// Makes traces as the PyTorch profiler writes them, event by event.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <overview/overview.hpp>
#include <overview/trace/read_trace.hpp>

#include "support/temporary_folder.hpp"

namespace penstock::test {

/// The thread of a host event, and the number that links it to device events: of runtime calls the correlation, of
/// others the external id. 0: none.
struct OnHost {
  int thread = 1;
  int link = 0;
};

/// The place of a device event, and its properties. Properties without a value are left out.
struct OnDevice {
  int correlation = 0;
  int external_id = 0;
  int device = 0;
  int stream = 7;
  std::optional<double> blocks_per_sm = {}, occupancy = {};
};

/// The categories of PyTorch 1.8, or those of later versions.
enum class Spelling : std::uint8_t { old_one, new_one };

/// Times are whole microseconds. An event covers [begin, end).
class MadeTrace {
 public:
  explicit MadeTrace(Spelling spelling = Spelling::new_one) : old_(spelling == Spelling::old_one) {}

  /// Adds members before the list of events: `"distributedInfo": {"rank": 1}`.
  MadeTrace& head(std::string_view members) {
    head_ += std::string(members) + ",\n";
    return *this;
  }
  /// Adds an event that is written out.
  MadeTrace& event(std::string text) {
    events_.push_back(std::move(text));
    return *this;
  }

  MadeTrace& step(int number, std::int64_t begin, std::int64_t end) {
    return host(old_ ? "Operator" : "user_annotation", "ProfilerStep#" + std::to_string(number), begin, end, {});
  }
  MadeTrace& loader(std::int64_t begin, std::int64_t end, bool workers = false, OnHost where = {}) {
    const std::string name = workers ? "_MultiProcessingDataLoaderIter" : "_SingleProcessDataLoaderIter";
    return host(old_ ? "Operator" : "user_annotation", "enumerate(DataLoader)#" + name + ".__next__", begin, end,
                where);
  }
  MadeTrace& op(const std::string& name, std::int64_t begin, std::int64_t end, OnHost where = {}) {
    return host(old_ ? "Operator" : "cpu_op", name, begin, end, where);
  }
  MadeTrace& annotation(const std::string& name, std::int64_t begin, std::int64_t end, OnHost where = {}) {
    return host("user_annotation", name, begin, end, where);
  }
  MadeTrace& runtime(const std::string& name, std::int64_t begin, std::int64_t end, OnHost where = {}) {
    return host(old_ ? "Runtime" : "cuda_runtime", name, begin, end, where);
  }
  MadeTrace& kernel(const std::string& name, std::int64_t begin, std::int64_t end, OnDevice where = {}) {
    return device(old_ ? "Kernel" : "kernel", name, begin, end, where);
  }
  MadeTrace& copy(const std::string& name, std::int64_t begin, std::int64_t end, OnDevice where = {}) {
    return device(old_ ? "Memcpy" : "gpu_memcpy", name, begin, end, where);
  }
  MadeTrace& fill(std::int64_t begin, std::int64_t end, OnDevice where = {}) {
    return device(old_ ? "Memset" : "gpu_memset", "Memset (Device)", begin, end, where);
  }
  /// A launch of [launch, launch + 1) and the kernel.
  MadeTrace& launched(std::int64_t launch, std::int64_t begin, std::int64_t end, OnDevice where) {
    return runtime("cudaLaunchKernel", launch, launch + 1, {.link = where.correlation})
        .kernel("work", begin, end, where);
  }

  std::string text() const {
    std::string out = "{\n\"schemaVersion\": 1,\n" + head_ + "\"traceEvents\": [\n";
    for (std::size_t i = 0; i < events_.size(); ++i) out += events_[i] + (i + 1 < events_.size() ? ",\n" : "\n");
    return out + "],\n\"traceName\": \"made\"\n}\n";
  }
  overview::Trace read() const {
    const TemporaryFolder folder;
    write_file(folder / "made.json", text());
    return overview::read_trace(folder / "made.json");
  }
  overview::RankOverview summary() const { return overview::summarize(read()); }

 private:
  static std::string member(const char* name, double value) {
    return ", \"" + std::string(name) + "\": " + std::to_string(value);
  }
  static std::string complete(std::string_view category, const std::string& name, const std::string& place,
                              std::int64_t begin, std::int64_t end, const std::string& args) {
    return R"({"ph": "X", "cat": ")" + std::string(category) + R"(", "name": ")" + name + "\", " + place +
           ", \"ts\": " + std::to_string(begin) + ", \"dur\": " + std::to_string(end - begin) + ", \"args\": {" + args +
           "}}";
  }
  MadeTrace& host(std::string_view category, const std::string& name, std::int64_t begin, std::int64_t end,
                  OnHost where) {
    const bool runtime = category == "Runtime" || category == "cuda_runtime";
    const std::string link = runtime ? "\"correlation\"" : old_ ? "\"external id\"" : "\"External id\"";
    return event(complete(category, name, "\"pid\": 100, \"tid\": " + std::to_string(where.thread), begin, end,
                          where.link == 0 ? "" : link + ": " + std::to_string(where.link)));
  }
  MadeTrace& device(std::string_view category, const std::string& name, std::int64_t begin, std::int64_t end,
                    const OnDevice& where) {
    const std::string number = std::to_string(where.device), stream = std::to_string(where.stream);
    std::string args = "\"device\": " + number + ", \"stream\": " + stream;
    if (where.correlation != 0) args += ", \"correlation\": " + std::to_string(where.correlation);
    if (where.external_id != 0)
      args += (old_ ? ", \"external id\": " : ", \"External id\": ") + std::to_string(where.external_id);
    if (where.blocks_per_sm) args += member("blocks per SM", *where.blocks_per_sm);
    if (where.occupancy) args += member("est. achieved occupancy %", *where.occupancy);
    const std::string thread = old_ ? "\"stream " + stream + "\"" : stream;
    return event(complete(category, name, "\"pid\": " + number + ", \"tid\": " + thread, begin, end, args));
  }

  bool old_;
  std::string head_;
  std::vector<std::string> events_;
};

}  // namespace penstock::test
