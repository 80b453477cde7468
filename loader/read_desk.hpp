// Where an engine takes requests in and answers them.
#pragma once

#include <cstdint>
#include <exception>
#include <limits>
#include <span>
#include <utility>

#include <penstock/loader/file_table.hpp>
#include <penstock/loader/gate.hpp>
#include <penstock/loader/read_counters.hpp>

namespace penstock {

/// The part that all engines share: files, answers and counts. Any number of threads may use it.
struct ReadDesk {
  FileTable files;
  OnRead on_read;
  ReadCounters counters = {};
  Gate gate = {};

  ReadDesk(std::uint32_t count, std::function<DataFile(std::uint32_t)> lookup, const FileTableOptions& options,
           OnRead answer)
      : files(count, std::move(lookup), options), on_read(std::move(answer)) {}

  void answer(std::uint64_t tag, std::exception_ptr failure = nullptr) {
    gate.pass([&] { on_read(tag, std::move(failure)); });
  }
  /// Of requests that were all served.
  void answer_all(std::span<const ReadRequest> requests) {
    gate.pass([&] {
      for (const ReadRequest& request : requests) on_read(request.tag, nullptr);
    });
  }
  template <typename Failure>
  void fail(std::uint64_t tag, Failure&& failure) {
    answer(tag, std::make_exception_ptr(std::forward<Failure>(failure)));
  }

  /// True when `request` is to be read. Empty ones, and those that no file can hold, are answered.
  bool admits(const ReadRequest& request) {
    const Extent& extent = request.extent;
    constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();  // of a file: off_t
    if (extent.length == 0) {
      answer(request.tag);
      return false;
    }
    if (extent.offset > kLargest || extent.length > kLargest - extent.offset) {
      try {
        fail(request.tag, files.ends_inside(extent));
      } catch (...) {  // the file does not exist either
        answer(request.tag, std::current_exception());
      }
      return false;
    }
    return true;
  }

  /// Answers sorted, disjoint requests that one read at `begin` served, which gave `bytes` bytes and `errnum` (0 at the
  /// file's end).
  void answer_merged(std::span<const ReadRequest> requests, std::uint64_t begin, std::uint64_t bytes, int errnum) {
    for (const ReadRequest& request : requests) {
      const Extent& extent = request.extent;
      if (extent.offset + extent.length <= begin + bytes)
        answer(request.tag);
      else if (errnum != 0)
        fail(request.tag, files.failed(extent, errnum));
      else
        fail(request.tag, files.ends_inside(extent));
    }
  }
};

}  // namespace penstock
