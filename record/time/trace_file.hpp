// The file of a trace: checked before anything is recorded, and written whole or not at all.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace penstock {

/// Text that goes to a file in large pieces.
class TextFile {
 public:
  /// A new file; or one that is there, such as a device. Errors name it `told`. Throws Error: io.
  TextFile(const std::filesystem::path& path, bool is_new, const std::filesystem::path& told);
  ~TextFile();
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  std::string& text() { return text_; }  ///< to append to; put() now and then
  void put() {
    if (text_.size() >= kPiece) write();
  }
  void close();  ///< throws Error: io, as put() does

 private:
  static constexpr std::size_t kPiece = 1 << 20;
  void write();

  const std::filesystem::path told_;
  int file_;
  std::string text_;
};

class TraceFile {
 public:
  /// Throws Error: io, naming the path, where a file cannot be made there.
  explicit TraceFile(const std::filesystem::path& path);
  const std::filesystem::path& path() const { return path_; }

  /// Calls write(file), and puts the whole in the place of what was there. Throws Error: io, and what write throws;
  /// nothing is left behind then.
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
  bool special_ = false;  // a device or a pipe, which is written to as it is
};

}  // namespace penstock
