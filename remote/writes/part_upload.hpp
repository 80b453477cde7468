// Writes an object in parts, some of which are on their way at a time.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <base/queue.hpp>
#include <base/thread.hpp>
#include <formats/places/object_store.hpp>
#include <remote/writes/part_store.hpp>

namespace penstock {

/// Bytes of part `number`, from 1: 8 MiB, twice that after each 1,000 parts, so that 10,000 parts, the most that S3
/// takes, hold its largest object, and those of usual shards are alike, as R2 wants them.
std::size_t part_bytes(unsigned number);

/// Takes parts from the caller's thread and sends them from kPartsUnderWay others, which begin with the second part: an
/// object of one part is written by one request. Holds at most kPartsUnderWay + 1 parts.
class PartUpload : public ObjectUpload {
 public:
  explicit PartUpload(std::unique_ptr<PartStore> store);
  ~PartUpload() override;

  void write(std::span<const std::byte> bytes) override;
  ObjectInfo finish() override;

 private:
  struct Part {
    unsigned number;
    std::vector<std::byte> bytes;
  };

  void send();  // what buffer_ holds, as the next part
  void send_parts(const std::stop_token& stop);
  template <typename Condition>
  void await(const Condition& condition);
  void end_threads();
  void abandon() noexcept;
  void throw_failure();

  std::unique_ptr<PartStore> store_;
  std::vector<std::byte> buffer_;
  std::uint64_t size_ = 0;  // of all that was written
  unsigned parts_ = 0;      // that were sent
  bool begun_ = false;
  bool over_ = false;  // finished, or given up
  Queue<Part> queue_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable answered_;
  unsigned under_way_ = 0;  // parts in the queue and with threads
  std::vector<std::string> names_;
  std::exception_ptr failure_;

  std::vector<Thread> threads_;  // last: they end before what they use
};

inline constexpr unsigned kPartsUnderWay = 4;

}  // namespace penstock
