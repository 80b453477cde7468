// Memory of this process that other processes can map, without a name in a file system. Its last mapping ends it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include <base/unforked.hpp>

namespace penstock {

/// Makes an unnamed file in memory (memfd_create(2)), which can be sealed. Its descriptor is empty if the system
/// refuses; errno then says why. The system shows `name`.
UnforkedDescriptor file_in_memory(const char* name);
/// Lets the system provide these bytes of a file in memory. Returns 0 or an errno. Without it, pages are allocated on
/// first access, and a page that the system refuses then raises SIGBUS.
int provide_bytes(int file, std::uint64_t begin, std::uint64_t end);

/// The memory of a process that other processes may map, by number. Numbers are never reused. Thread-safe.
class SharedRegions {
 public:
  /// Part of the memory. Ends with this object.
  class Region {
   public:
    Region() = default;
    Region(Region&& other) noexcept;
    Region& operator=(Region&& other) noexcept;
    ~Region();
    std::byte* data() const { return mapping_.data(); }
    std::uint64_t size() const { return mapping_.size(); }

   private:
    friend SharedRegions;
    std::shared_ptr<SharedRegions> all_;
    std::uint64_t number_ = 0;
    UnforkedDescriptor file_;
    UnforkedMapping mapping_;
  };
  /// Adds a region of `bytes`, which nothing has touched yet. provide() must come before the first access. Throws
  /// Error: resource, if the system refuses.
  static Region add(const std::shared_ptr<SharedRegions>& all, std::uint64_t bytes);

  struct Place {
    std::uint64_t region;  ///< its number
    std::uint64_t offset;
    std::uint64_t bytes;  ///< of the whole region
    int file;             ///< its descriptor, which lives as long as the region
  };
  /// Returns the place of an address, or nothing if it is in no region.
  std::optional<Place> find(const std::byte* address) const;
  /// Returns how many regions have ended so far.
  std::uint64_t ended() const;
  /// Returns whether the region still exists.
  bool has(std::uint64_t region) const;
  /// Lets the system provide the bytes at this address. Throws Error: resource, if it refuses or the address is in no
  /// region.
  void provide(const std::byte* address, std::uint64_t bytes) const;

 private:
  struct Entry {
    std::uint64_t number, bytes;
    int file;
  };
  void remove(const std::byte* begin);

  mutable std::mutex mutex_;                   // guards the members below
  std::map<const std::byte*, Entry> regions_;  // by their first byte
  std::uint64_t last_ = 0, ended_ = 0;
};

}  // namespace penstock
