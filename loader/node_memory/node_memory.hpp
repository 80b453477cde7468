// Memory that processes of a node share for a cache of samples, and that ends with the last of them.
//
//   header   what it is, how much of it is given out and provided, and who shares it
//   table    words of 8 bytes, zeros at first
//   values   given out from the beginning on, never taken back
//
// It is an unnamed file in memory (memfd_create(2)). Whoever comes first makes it, any member hands its descriptor to
// who comes later. Whatever a member is doing when it is killed, the others go on: nothing here is locked, and what the
// member had claimed is known by its number to be nobody's.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

#include <base/unforked.hpp>
#include <loader/node_memory/doorkeeper.hpp>
#include <loader/node_memory/meeting.hpp>

namespace penstock {

/// Two hashes of all that must be the same for who shares memory.
struct MemoryKey {
  std::uint64_t first = 0, second = 0;
  friend bool operator==(const MemoryKey&, const MemoryKey&) = default;
};

/// A member's own way to the memory. Any number of threads may use it.
class NodeMemory {
 public:
  /// Joins those who share `bytes` of memory under that key, or is the first. `table_words`: words of the table. Throws
  /// Error: resource, where the memory or a way to share it is refused.
  NodeMemory(const MemoryKey& key, std::uint64_t bytes, std::uint64_t table_words,
             std::chrono::milliseconds patience = std::chrono::seconds(10));
  ~NodeMemory();
  NodeMemory(NodeMemory&&) = delete;

  /// Where those of that key meet.
  static std::string meeting_name(const MemoryKey& key);

  /// Sums over all members. Relaxed: they order nothing.
  std::atomic<std::uint64_t>& used() const;
  std::atomic<std::uint64_t>& count() const;

  std::uint64_t bytes() const { return bytes_; }  ///< all of it
  std::uint64_t* table() const;
  std::byte* values() const;
  std::uint64_t capacity() const { return bytes_ - values_at_; }  ///< bytes of values
  /// Bytes of values, from the first on, that may be touched.
  std::uint64_t provided() const;
  /// Has the system provide the first `end` bytes of values. False, when it refuses: touching them would end the
  /// process. From then on this member is refused all that is not there yet.
  bool provide(std::uint64_t end);
  bool refused() const { return refused_.load(std::memory_order_relaxed) != 0; }

  /// This member's, which no other has had or will have; not 0.
  std::uint64_t number() const { return number_; }
  /// False once that member is known to be gone.
  bool is_member(std::uint64_t number) const;
  /// Members that live; strikes off those that are gone.
  unsigned members() const;
  std::string note() const;  ///< that memory was refused, for people; or ""

 private:
  struct Header;
  void join(const Meeting& meeting, const MemoryKey& key);
  void make(const MemoryKey& key);
  void map_handed(const MemoryKey& key);
  void take_place(const Meeting& meeting);
  bool lives(unsigned place) const;
  Header& header() const;

  std::uint64_t bytes_, values_at_;
  UnforkedDescriptor file_;  // opened here: the lock of its place ends with this process
  UnforkedMapping mapping_;
  std::uint64_t number_ = 0;
  pid_t process_ = 0;
  std::mutex providing_;  // one thread at a time asks the system for memory
  std::atomic<int> refused_{0};
  Doorkeeper door_;
};

/// For tests: called before memory is provided; its result, an errno, is the system's, unless it is 0.
inline std::atomic<int (*)(std::uint64_t begin, std::uint64_t end)> before_memory_is_provided{nullptr};

}  // namespace penstock
