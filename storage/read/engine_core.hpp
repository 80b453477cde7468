// State and logic that all engines share: accepts requests and answers them.
#pragma once

#include <cstdint>
#include <exception>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <base/callback_gate.hpp>
#include <base/caught.hpp>
#include <formats/dataset.hpp>
#include <formats/extent.hpp>
#include <storage/read/file_table.hpp>
#include <storage/read/read_counters.hpp>
#include <storage/read/read_engine.hpp>

namespace penstock {

/// Files, answers and counters of an engine. Thread-safe.
struct EngineCore {
  FileTable files;
  OnRead on_read;
  ReadCounters counters = {};
  CallbackGate gate = {};

  EngineCore(std::uint32_t count, std::function<DataFile(std::uint32_t)> lookup, const FileTableOptions& options,
             OnRead answer)
      : files(count, std::move(lookup), options), on_read(std::move(answer)) {}

  /// Returns the file, and opens it if it is not open. Throws as FileTable::open().
  std::shared_ptr<const OpenFile> open(std::uint32_t file) {
    if (auto known = files.find_open(file)) return known;
    const auto begin = std::chrono::steady_clock::now();
    auto opened = files.open(file);
    counters.opened(std::chrono::steady_clock::now() - begin);
    return opened;
  }

  void answer(std::uint64_t tag, std::exception_ptr failure = nullptr) {
    gate.call([&] { on_read(tag, std::move(failure)); });
  }
  /// Answers requests that were all served.
  void answer_all(std::span<const ReadRequest> requests) {
    gate.call([&] {
      for (const ReadRequest& request : requests) on_read(request.tag, nullptr);
    });
  }

  /// Answers with `failure`, and adds the location of the extent.
  void fail(const ReadRequest& request, std::exception_ptr failure) {
    answer(request.tag, located(std::move(failure), request.extent));
  }
  void fail(std::span<const ReadRequest> requests, const std::exception_ptr& failure) {
    for (const ReadRequest& request : requests) fail(request, failure);
  }

  /// Passes the requests that must be read to `push`. `push` must accept all of them or throw and accept none. Every
  /// request is answered eventually, even if memory runs out.
  template <typename Push>
  void submit(std::span<const ReadRequest> requests, Push&& push) {
    counters.asked(requests);
    std::vector<ReadRequest> admitted;
    if (auto failure = caught([&] { admitted.reserve(requests.size()); })) return fail(requests, failure);
    for (const ReadRequest& request : requests)
      if (admits(request)) admitted.push_back(request);
    if (admitted.empty()) return;
    if (auto failure = caught([&] { push(std::span<const ReadRequest>(admitted)); })) fail(admitted, failure);
  }

  /// Returns true if `request` must be read. Answers empty requests, and requests beyond the largest file size, at
  /// once.
  bool admits(const ReadRequest& request) {
    const Extent& extent = request.extent;
    constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();  // of a file: off_t
    if (extent.length == 0) {
      answer(request.tag);
      return false;
    }
    if (extent.offset > kLargest || extent.length > kLargest - extent.offset) {
      // may also report that the file does not exist
      answer(request.tag, caught([&] { throw files.ends_inside(extent); }));
      return false;
    }
    return true;
  }

  /// Answers sorted, disjoint requests that one read at `begin` served. The read returned `bytes` bytes and `errnum` (0
  /// at the end of the file).
  void answer_merged(std::span<const ReadRequest> requests, std::uint64_t begin, std::uint64_t bytes, int errnum) {
    for (const ReadRequest& request : requests) {
      const Extent& extent = request.extent;
      const bool whole = extent.offset + extent.length <= begin + bytes;
      answer(request.tag, whole ? nullptr : failure_of(extent, errnum));
    }
  }
  /// Returns the error of an incomplete read: `errnum`, or "the file ends" if it is 0.
  std::exception_ptr failure_of(const Extent& extent, int errnum) const {
    return caught([&] { throw errnum != 0 ? files.failed(extent, errnum) : files.ends_inside(extent); });
  }
  /// Adds the location of the extent to `failure` if it has none.
  std::exception_ptr located(std::exception_ptr failure, const Extent& extent) const {
    return explained(std::move(failure),
                     [&] { return ErrorContext{.shard = files.shard(extent.file), .offset = extent.offset}; });
  }
};

}  // namespace penstock
