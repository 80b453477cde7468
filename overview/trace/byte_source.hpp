// The decompressed bytes of a file, one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <iterator>
#include <optional>
#include <vector>

#include <base/queue.hpp>
#include <base/thread.hpp>

namespace penstock::overview {

/// A second thread reads and decompresses ahead of the caller, by at most four pieces of 1 MiB.
class ByteSource {
 public:
  /// `progress` gets the number of bytes of the file read so far, in the caller's thread. `progress` may throw. Throws
  /// Error: io.
  ByteSource(std::filesystem::path path, std::function<void(std::uint64_t)> progress);
  ~ByteSource();
  ByteSource(ByteSource&&) = delete;

  /// The next byte, or nothing at the end of the file and at a place that cannot be read (see failure()).
  bool at_end() {
    if (next_ != end_) return false;
    return !refill();
  }
  char current() const { return *next_; }
  void advance() {
    ++next_;
    ++position_;
  }
  std::uint64_t position() const { return position_; }
  /// The error that ended the bytes early, or null.
  std::exception_ptr failure() const { return failure_; }

 private:
  struct Piece {
    std::vector<char> bytes;
    std::uint64_t read = 0;
    std::exception_ptr failure;
  };
  bool refill();
  void read_all(const std::stop_token& stop);
  void deliver(std::vector<char> bytes, std::uint64_t read);

  std::filesystem::path path_;
  std::function<void(std::uint64_t)> progress_;
  Queue<std::vector<char>> spare_;
  Queue<Piece> pieces_;
  Piece piece_;
  const char* next_ = nullptr;
  const char* end_ = nullptr;
  std::uint64_t position_ = 0;
  std::exception_ptr failure_;
  bool ended_ = false;
  Thread reader_;  // last: uses the members above
};

/// An input iterator over a source; a default one is its end.
class ByteIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  ByteIterator() = default;
  explicit ByteIterator(ByteSource& source) : source_(&source) {}
  char operator*() const { return source_->current(); }
  ByteIterator& operator++() {
    source_->advance();
    return *this;
  }
  void operator++(int) { source_->advance(); }
  friend bool operator==(const ByteIterator& left, const ByteIterator& right) { return left.ended() == right.ended(); }

 private:
  bool ended() const { return source_ == nullptr || source_->at_end(); }
  ByteSource* source_ = nullptr;
};

}  // namespace penstock::overview
