// The file of a trace. It is checked before recording begins, and written completely or not at all.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace penstock {

/// Writes text to a file in large pieces.
class TextFile {
 public:
  /// Opens a new file, or an existing one such as a device. Errors name it `told`. Throws Error: io.
  TextFile(const std::filesystem::path& path, bool is_new, const std::filesystem::path& told);
  ~TextFile();
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  std::string& text() { return text_; }  ///< append here and call put() regularly
  void put() {
    if (text_.size() >= kPiece) write();
  }
  void close();  ///< throws Error: io, like put()

 private:
  static constexpr std::size_t kPiece = 1 << 20;
  void write();

  const std::filesystem::path told_;
  int file_;
  std::string text_;
};

class TraceFile {
 public:
  /// Throws Error: io, naming the path, if no file can be made there.
  explicit TraceFile(const std::filesystem::path& path);
  const std::filesystem::path& path() const { return path_; }

  /// Calls write(file) and then replaces the old file with the result. Throws Error: io, and what write() throws; the
  /// new file is removed in that case.
  template <typename Write>
  void replace(Write write) const {
    const std::filesystem::path growing = begin();
    try {
      TextFile file(growing, growing != path_, path_);
      write(file);
      file.close();
      finish(growing);
    } catch (...) {
      discard(growing);
      throw;
    }
  }

 private:
  std::filesystem::path begin() const;
  void finish(const std::filesystem::path& growing) const;
  void discard(const std::filesystem::path& growing) const noexcept;

  std::filesystem::path path_;
  bool special_ = false;  // a device or a pipe, which is written to directly
};

}  // namespace penstock
