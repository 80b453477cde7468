// A consumer's view of the memory of a hub. The consumer's changes stay in its view.
#pragma once

#include <cstddef>
#include <cstdint>

#include <base/unforked.hpp>

namespace penstock::sharing {

/// Maps a file copy-on-write: the system copies a page when it is written to, so neither the hub nor other consumers
/// see the change. Thread-safe for different stretches.
class PrivateView {
 public:
  /// Throws Error: corrupt, unless the file has this size and cannot shrink; resource, if it cannot be mapped.
  PrivateView(const UnforkedDescriptor& file, std::uint64_t bytes);
  ~PrivateView();
  PrivateView(PrivateView&&) = delete;

  std::byte* data() const { return data_; }
  std::uint64_t size() const { return bytes_; }
  /// Drops what was changed in pages that lie wholly or in part in this stretch, so that they show the file again.
  void forget_changes(std::uint64_t offset, std::uint64_t bytes) const;

 private:
  std::byte* data_ = nullptr;
  std::uint64_t bytes_;
};

}  // namespace penstock::sharing
