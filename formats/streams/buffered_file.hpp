// Writes a new file in large steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <formats/io/descriptor.hpp>
#include <formats/io/writeback.hpp>
#include <formats/streams/object_stream.hpp>

namespace penstock {

/// All appended bytes are in the file after finish(). Each call throws Error: io, with the file.
class BufferedFile {
 public:
  /// The file must not exist.
  explicit BufferedFile(std::filesystem::path path);
  /// If `object` is not empty, the bytes go to that object, and no file is made.
  BufferedFile(std::filesystem::path path, const std::string& object);

  void append(std::span<const std::byte> bytes);
  void append(std::string_view text) { append(std::as_bytes(std::span(text))); }
  void append_zeros(std::uint64_t count);
  void finish();  ///< writes the remaining bytes and fsyncs
  /// Call after finish(). Returns probe_stamp() of the bytes.
  std::uint64_t stamp() const;
  const ObjectStream* object() const { return object_ ? &*object_ : nullptr; }  ///< null: a file is written

  std::uint64_t position() const { return position_; }  ///< bytes appended
  const std::filesystem::path& path() const { return path_; }

 private:
  void flush();
  void write(std::span<const std::byte> bytes);

  std::filesystem::path path_;
  Descriptor file_;
  std::optional<ObjectStream> object_;  // replaces the file
  std::vector<std::byte> buffer_;
  std::uint64_t position_ = 0;
  Writeback writeback_;
};

}  // namespace penstock
