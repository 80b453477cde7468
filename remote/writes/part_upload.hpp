// Writes an object in parts, several of them in parallel.
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

/// Size of part `number`, from 1: 8 MiB, doubled after each 1,000 parts. S3's largest object therefore fits into 10,000
/// parts, S3's limit. Shards of the usual size have parts of equal size, as R2 requires.
std::size_t part_bytes(unsigned number);

/// Takes bytes from the caller's thread. From the second part on, kPartsUnderWay threads send the parts; an object of
/// one part is written by one request. Holds at most kPartsUnderWay + 1 parts.
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

  void send();  // sends buffer_ as the next part
  void send_parts(const std::stop_token& stop);
  template <typename Condition>
  void await(const Condition& condition);
  void end_threads();
  void abandon() noexcept;
  void throw_failure();

  std::unique_ptr<PartStore> store_;
  std::vector<std::byte> buffer_;
  std::uint64_t size_ = 0;  // total size written
  unsigned parts_ = 0;      // number of parts sent
  bool begun_ = false;
  bool over_ = false;  // finished or given up
  Queue<Part> queue_;

  std::mutex mutex_;  // guards the members below
  std::condition_variable answered_;
  unsigned under_way_ = 0;  // parts in the queue or with a thread
  std::vector<std::string> names_;
  std::exception_ptr failure_;

  std::vector<Thread> threads_;  // last, so the threads end before the members that they use
};

inline constexpr unsigned kPartsUnderWay = 4;

}  // namespace penstock
