// Memory that processes of a node share for a cache of samples. The last of these processes frees the memory.
//
//   header   the key, how much is reserved and provided, and the members
//   table    words of 8 bytes, initially zero
//   values   reserved from the beginning on, never freed
//
// The memory is an unnamed file (memfd_create(2)). The first process makes it, and any member sends its descriptor to
// newcomers. A member may be killed at any time without blocking the others, because nothing here is locked for the
// duration of a change. Others recognise a dead member's claims by its number.
//
// Invariants: a member's number is never used twice. `provided` only grows. Only bytes below `provided` may be touched,
// because the system may refuse other pages with SIGBUS.
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

/// Two hashes of everything that must be equal in processes that share memory.
struct MemoryKey {
  std::uint64_t first = 0, second = 0;
  friend bool operator==(const MemoryKey&, const MemoryKey&) = default;
};

/// A member's access to the memory. Thread-safe.
class NodeMemory {
 public:
  /// Joins the processes that share `bytes` of memory under that key, or makes the memory. `table_words` is the
  /// number of words in the table. Throws Error: resource, if the system refuses memory or a way to share it.
  NodeMemory(const MemoryKey& key, std::uint64_t bytes, std::uint64_t table_words,
             std::chrono::milliseconds patience = std::chrono::seconds(10));
  ~NodeMemory();
  NodeMemory(NodeMemory&&) = delete;

  /// Returns the name of the Meeting for that key.
  static std::string meeting_name(const MemoryKey& key);

  /// Sums over all members. Relaxed: they order nothing.
  std::atomic<std::uint64_t>& used() const;
  std::atomic<std::uint64_t>& count() const;

  std::uint64_t bytes() const { return bytes_; }  ///< total size
  std::uint64_t* table() const;
  std::byte* values() const;
  std::uint64_t capacity() const { return bytes_ - values_at_; }  ///< size of the values in bytes
  /// Returns how many bytes of values, from the first one, may be touched.
  std::uint64_t provided() const;
  /// Lets the system provide the first `end` bytes of values. Returns false if it refuses; touching them would then
  /// end the process. After a refusal, this member asks for no more memory.
  bool provide(std::uint64_t end);
  bool refused() const { return refused_.load(std::memory_order_relaxed) != 0; }

  /// Returns this member's number. It is not 0 and no other member ever has it.
  std::uint64_t number() const { return number_; }
  /// Returns false once that member is known to be dead.
  bool is_member(std::uint64_t number) const;
  /// Returns the number of living members and removes dead ones.
  unsigned members() const;
  std::string note() const;  ///< says that memory was refused, as text for people; or ""

 private:
  struct Header;
  void join(const Meeting& meeting, const MemoryKey& key);
  void make(const MemoryKey& key);
  void map_handed(const MemoryKey& key);
  void take_place(const Meeting& meeting);
  bool lives(unsigned place) const;
  Header& header() const;

  std::uint64_t bytes_, values_at_;
  UnforkedDescriptor file_;  // opened here, so that the lock of its place ends with this process
  UnforkedMapping mapping_;
  std::uint64_t number_ = 0;
  pid_t process_ = 0;
  std::mutex providing_;  // only one thread at a time asks the system for memory
  std::atomic<int> refused_{0};
  Doorkeeper door_;
};

/// For tests: called before memory is provided. If it returns an errno other than 0, provide() behaves as if the
/// system had returned that.
inline std::atomic<int (*)(std::uint64_t begin, std::uint64_t end)> before_memory_is_provided{nullptr};

}  // namespace penstock
