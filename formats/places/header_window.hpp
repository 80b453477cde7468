// Reads a file's headers through a window, so that many small headers need few system calls.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <base/numbers/load.hpp>
#include <formats/io/byte_source.hpp>
#include <penstock/error.hpp>

namespace penstock {

/// Reads a little-endian value of type T at offset `at` of `bytes`. Throws Error: corrupt, if the value ends outside.
template <typename T>
T little_endian(std::span<const std::byte> bytes, std::size_t at) {
  static_assert(std::is_trivially_copyable_v<T> && std::endian::native == std::endian::little);
  if (at > bytes.size() || sizeof(T) > bytes.size() - at) throw Error::corrupt("ends inside a number");
  return load<T>(bytes, at);
}

/// For use by one thread at a time.
class HeaderWindow {
 public:
  static constexpr std::uint64_t kAhead = std::uint64_t{1} << 20;

  /// `shard` is the name in messages.
  HeaderWindow(std::shared_ptr<const ByteSource> source, std::string shard);
  /// Opens `path` by open_byte_source(), and throws its errors.
  HeaderWindow(const std::filesystem::path& path, std::string shard);

  std::uint64_t size() const { return source_->size(); }
  const std::filesystem::path& path() const { return source_->path(); }
  const ByteSource& source() const { return *source_; }
  const std::string& shard() const { return shard_; }

  /// Returns bytes [offset, offset + length) of the file, valid until the next call. If they are not in the window,
  /// fills the window from `offset` on with `ahead` or `length` bytes, whichever is more. Throws Error: io; corrupt,
  /// with shard and offset, if the file ends earlier.
  std::span<const std::byte> read(std::uint64_t offset, std::uint64_t length, std::uint64_t ahead = kAhead);

  Error corrupt(std::string cause, std::uint64_t offset) const;
  Error unsupported(std::string cause, std::uint64_t offset) const;

 private:
  std::shared_ptr<const ByteSource> source_;
  std::string shard_;
  std::vector<std::byte> window_;  // [begin_, begin_ + window_.size()) of the file
  std::uint64_t begin_ = 0;
};

inline std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace penstock
