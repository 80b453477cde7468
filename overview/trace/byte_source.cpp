#include <algorithm>
#include <utility>

#include <fcntl.h>

#include <formats/io/descriptor.hpp>
#include <overview/trace/byte_source.hpp>
#include <pack/compressed_file.hpp>
#include <penstock/error.hpp>

namespace penstock::overview {
namespace {

constexpr std::size_t kPieces = 4, kPieceBytes = std::size_t{1} << 20;

struct Stopped {};

}  // namespace

ByteSource::ByteSource(std::filesystem::path path, std::function<void(std::uint64_t)> progress)
    : path_(std::move(path)), progress_(std::move(progress)) {
  // A pipe such as <(zcat trace.gz) delivers its first bytes once, and compression_of() and read_all() both read them.
  std::error_code missing;
  if (std::filesystem::is_fifo(path_, missing))
    throw Error::invalid_argument(path_.string() + " is a pipe; write the trace to a file, which may be a .gz file");
  Descriptor::open(path_, O_RDONLY);  // reports a missing file here
  for (std::size_t i = 0; i < kPieces; ++i) spare_.push(std::vector<char>());
  reader_ = Thread("penstock-trace", [this](const std::stop_token& stop) {
    Piece last;
    try {
      read_all(stop);
    } catch (const Stopped&) {
    } catch (...) {
      last.failure = std::current_exception();
    }
    pieces_.push(std::move(last));
  });
}

ByteSource::~ByteSource() {
  reader_.join();
}

// Each piece needs a spare buffer, which bounds the memory.
void ByteSource::read_all(const std::stop_token& stop) {
  const auto spare = [&] {
    std::optional<std::vector<char>> buffer = spare_.pop(stop);
    if (!buffer) throw Stopped();
    return std::move(*buffer);
  };
  const FileCompression compression = compression_of(path_);
  if (compression != FileCompression::none) {
    std::vector<char> buffer;
    const auto take = [&](std::span<const std::byte> bytes) {
      buffer = spare();
      const auto* const first = reinterpret_cast<const char*>(bytes.data());
      buffer.assign(first, first + bytes.size());
    };
    decompress(path_, compression, take, [&](std::uint64_t read) { deliver(std::move(buffer), read); });
    return;
  }
  const Descriptor file = Descriptor::open(path_, O_RDONLY);
  for (std::uint64_t offset = 0;;) {
    std::vector<char> buffer = spare();
    buffer.resize(kPieceBytes);
    const std::size_t got = read_at(file.get(), std::as_writable_bytes(std::span(buffer)), offset, path_);
    if (got == 0) return;
    buffer.resize(got);
    offset += got;
    deliver(std::move(buffer), offset);
  }
}

void ByteSource::deliver(std::vector<char> bytes, std::uint64_t read) {
  pieces_.push({std::move(bytes), read, nullptr});
}

bool ByteSource::refill() {
  if (ended_) return false;
  if (piece_.bytes.capacity() != 0) spare_.push(std::move(piece_.bytes));
  piece_ = *pieces_.pop({});
  next_ = piece_.bytes.data();
  end_ = next_ + piece_.bytes.size();
  ended_ = piece_.bytes.empty();
  failure_ = piece_.failure;
  if (!ended_) progress_(piece_.read);
  return !ended_;
}

}  // namespace penstock::overview
