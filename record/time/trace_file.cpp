#include <atomic>
#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <penstock/error.hpp>
#include <record/time/trace_file.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void cannot_write(int cause, const fs::path& path) {
  throw Error::io(cause, "cannot write the trace " + path.string());
}

}  // namespace

TextFile::TextFile(const fs::path& path, bool is_new, const fs::path& told) : told_(told) {
  const int how = is_new ? O_CREAT | O_EXCL : 0;
  file_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | how, 0666);
  if (file_ < 0) cannot_write(errno, told_);
}

TextFile::~TextFile() {
  if (file_ >= 0) ::close(file_);
}

void TextFile::write() {
  std::string_view left = text_;
  while (!left.empty()) {
    const ssize_t written = ::write(file_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) cannot_write(errno, told_);
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  text_.clear();
}

void TextFile::close() {
  write();
  const int file = std::exchange(file_, -1);
  if (::close(file) != 0 && errno != EINTR) cannot_write(errno, told_);
}

TraceFile::TraceFile(const fs::path& path) {
  if (path.empty()) throw Error::invalid_argument("a trace requires a file name");
  std::error_code failure;
  path_ = fs::absolute(path, failure);
  if (failure) cannot_write(failure.value(), path);
  const fs::file_status status = fs::status(path_, failure);
  if (fs::is_directory(status)) cannot_write(EISDIR, path);
  if (fs::exists(status)) {
    if (::access(path_.c_str(), W_OK) != 0) cannot_write(errno, path);
    special_ = !fs::is_regular_file(status);
    if (!special_) path_ = fs::canonical(path_, failure);  // a symbolic link is preserved
    if (failure) cannot_write(failure.value(), path);
  }
  if (special_) return;
  const fs::path tried = begin();
  TextFile(tried, true, path_).close();
  discard(tried);
}

// Returns a name that no other process, and no other trace of this process, uses.
fs::path TraceFile::begin() const {
  static std::atomic<std::uint64_t> number{0};  // relaxed: only the uniqueness matters
  if (special_) return path_;
  fs::path growing = path_;
  growing.replace_filename("." + path_.filename().string() + "." + std::to_string(::getpid()) + "." +
                           std::to_string(number.fetch_add(1, std::memory_order_relaxed)) + ".tmp");
  return growing;
}

void TraceFile::finish(const fs::path& growing) const {
  if (!special_ && ::rename(growing.c_str(), path_.c_str()) != 0) cannot_write(errno, path_);
}

void TraceFile::discard(const fs::path& growing) const noexcept {
  if (!special_) ::unlink(growing.c_str());
}

}  // namespace penstock
