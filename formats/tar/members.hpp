// Walks the members of a tar archive in file order, reading headers only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <formats/places/header_window.hpp>
#include <formats/tar/pax.hpp>
#include <penstock/error.hpp>

namespace penstock {

struct TarMember {
  std::string name;
  char type;  ///< '0' file, '1' hard link, '2' symbolic link, '5' directory, ...; '\0' and '7' are reported as '0'
  std::string link_name;  ///< of links
  std::uint64_t header;   ///< offset of its header block
  std::uint64_t data;     ///< offset of its data
  std::uint64_t size;     ///< bytes of data, all inside the file
};

/// Supports v7, ustar, pax (with global records), GNU long names and base-256 sizes. For use by one thread at a time.
class TarMembers {
 public:
  /// Throws Error: io; unsupported, if the archive is compressed as a whole. `shard` is the archive's name in messages.
  TarMembers(const std::filesystem::path& path, std::string shard);

  /// Replaces `member` by the next one. Returns false at the end of the file, or if bytes other than a header follow
  /// blocks of zeros. A header after blocks of zeros continues the archive, as with tar --ignore-zeros. Throws Error:
  /// io; corrupt, with shard and offset (a header with a wrong checksum, a header or data beyond the end of the file,
  /// invalid pax records); unsupported (sparse members, members continued from another volume).
  bool next(TarMember& member);

  /// Call after next() has returned false. Returns the offset of nonzero bytes after the end marker.
  std::optional<std::uint64_t> after_end() const { return after_end_; }

  std::uint64_t size() const { return file_.size(); }  ///< bytes of the archive
  const ByteSource& source() const { return file_.source(); }

 private:
  struct Overrides;
  std::string_view bytes_at(std::uint64_t offset, std::uint64_t length);
  std::optional<std::string_view> header_at(std::uint64_t offset);
  std::string_view extension_body(std::uint64_t header, std::uint64_t size);
  bool skip_zeros(std::uint64_t begin);
  void complete(TarMember& member, Overrides&& overrides);

  HeaderWindow file_;
  std::uint64_t next_ = 0;       // offset of the next header
  std::uint64_t last_data_ = 0;  // size of the last member, which decides how much to read ahead
  PaxRecords global_;
  std::optional<std::uint64_t> after_end_ = {};
};

}  // namespace penstock
