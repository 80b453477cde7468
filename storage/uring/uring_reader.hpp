// The thread of one ring: takes requests, merges and splits them, keeps the ring full, and answers.
#pragma once

#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

#include <formats/io/descriptor.hpp>
#include <storage/read/coalesce.hpp>
#include <storage/read/engine_core.hpp>
#include <storage/read/read_engine.hpp>
#include <storage/read/read_vector.hpp>
#include <storage/read/scratch.hpp>
#include <storage/uring/uring_ring.hpp>

namespace penstock {

/// A request longer than one read. Its pieces are read in parallel, and the last one to finish answers.
struct SplitRequest {
  ReadRequest request{};
  std::uint64_t pieces_left = 0;
  std::exception_ptr failure;  // of the first piece that failed
};

/// One read in progress: its file is opened if necessary, then the ring reads until the range is complete. Its address
/// is the user_data of its operations, so a read is never freed or reused while an operation is in flight.
///
///   file bytes     ......[gap, begin .............. end, gap).......
///   buffered       read from begin + done into the requests' own destinations
///   O_DIRECT       read from an aligned offset at or before begin into `scratch`, then copied
struct UringRead {
  std::uint32_t file = 0;
  std::uint64_t begin = 0, end = 0;
  std::vector<ReadRequest> requests;     // sorted, disjoint; a single one if split; empty: spare
  SplitRequest* split = nullptr;         // set if this is a piece of a larger request
  std::shared_ptr<const OpenFile> open;  // null until the ring has opened the file
  std::string path;                      // must live until the open completes
  std::chrono::steady_clock::time_point asked_open{};
  bool open_direct = true;  // use O_DIRECT if the options request it
  ReadVector target;
  std::uint64_t done = 0;   // bytes from begin; with scratch: from aligned_begin
  std::uint64_t asked = 0;  // bytes of the read in flight
  std::span<std::byte> scratch;
  std::uint64_t aligned_begin = 0, aligned_end = 0;
  unsigned attempts = 0;  // consecutive EAGAIN answers
};

class UringReader {
 public:
  UringReader(std::shared_ptr<EngineCore> core, const EngineOptions& options, AnswerFilter filter);
  UringReader(UringReader&&) = delete;

  /// The thread's body. Fulfils `ready`, or sets it to the Error of a refused ring.
  void run(const std::stop_token& stop, std::promise<void>& ready);
  bool broken();                                       ///< the ring failed: its reads may still write
  void submit(std::span<const ReadRequest> requests);  ///< from any thread; requests are already admitted
  void wake();                                         ///< from any thread

 private:
  // uring_reader.cpp: from requests to operations in the ring
  void loop(const std::stop_token& stop);
  void listen();
  void take_over();
  void split(const ReadRequest& request);
  UringRead& new_read(std::span<const ReadRequest> requests);
  void start_waiting();
  bool start(UringRead& read);  // false: no scratch is free
  void ask_open(UringRead& read);
  bool ask_read(UringRead& read);
  bool take_scratch(UringRead& read, std::uint64_t align);
  bool wait();  // false: the ring itself failed
  void drain();
  void begin_anew(const std::exception_ptr& failure);
  void give_up(int errnum);
  void fail_all(const std::exception_ptr& failure) noexcept;

  // uring_answers.cpp: from completions to answered requests
  void completed(UringRead& read, std::int64_t answer);
  void opened(UringRead& read, std::int64_t answer);
  void failed_answer(UringRead& read, int errnum);
  void into_destinations(UringRead& read, std::uint64_t bytes);
  void into_scratch(UringRead& read, std::uint64_t bytes);
  void ask_again(UringRead& read);
  void read_buffered(UringRead& read);
  void finish_with_pread(UringRead& read);
  void finish(UringRead& read, std::uint64_t bytes, int errnum);
  void fail(UringRead& read, const std::exception_ptr& failure) noexcept;
  void answer_piece(UringRead& read, std::exception_ptr failure) noexcept;
  void recycle(UringRead& read) noexcept;

  const std::shared_ptr<EngineCore> core_;
  const EngineOptions options_;
  const AnswerFilter filter_;
  const Descriptor wake_;  // eventfd; the ring always reads it, so that one wait covers requests and completions

  std::mutex mutex_;  // guards incoming_ and broken_
  std::vector<ReadRequest> incoming_;
  int broken_ = 0;  // errno of the ring's permanent failure

  // Only the thread uses the members below.
  std::optional<UringRing> ring_;
  std::optional<ScratchPool> scratch_;
  std::vector<std::byte> bin_;
  std::uint64_t wakes_ = 0;  // destination of the eventfd read
  std::vector<ReadRequest> taken_;
  std::size_t reading_ = 0;  // end of the part of taken_ that reads_ answers
  std::vector<MergedRead> merged_;
  std::unordered_map<std::uint32_t, std::vector<UringRead*>> opening_;  // file -> reads that wait for it
  std::deque<UringRead*> waiting_;                                      // for room in the ring, or for scratch
  std::vector<std::unique_ptr<UringRead>> reads_;                       // all reads; those without requests are spare
  std::vector<UringRead*> spare_;                                       // capacity for all of reads_
  std::vector<std::unique_ptr<SplitRequest>> splits_;
  std::vector<SplitRequest*> spare_splits_;  // capacity for all of splits_
  unsigned in_flight_ = 0;
  bool listening_ = false;
  bool draining_ = false;
};

}  // namespace penstock
