#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <zlib.h>

#include <formats/io/descriptor.hpp>
#include <formats/tar/header.hpp>
#include <formats/tfrecord/frames.hpp>
#include <pack/compressed_file.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPiece = std::size_t{1} << 20;  // bytes
constexpr unsigned char kGzipFirst = 0x1F, kGzipSecond = 0x8B;

// Tests for the two header bytes that TensorFlow writes: deflate with a 32 KiB window, the pair divisible by 31.
// Source: RFC 1950, section 2.2.
bool begins_as_zlib(unsigned char first, unsigned char second) {
  return first == 0x78 && (unsigned{first} << 8 | second) % 31 == 0;
}

/// Decompresses one file.
class Inflater {
 public:
  Inflater(const fs::path& path, FileCompression compression)
      : path_(path),
        gzip_(compression == FileCompression::gzip),
        file_(Descriptor::open(path, O_RDONLY)),
        stored_(kPiece),
        plain_(kPiece) {
    constexpr int kOfGzip = 16;
    if (::inflateInit2(&stream_, MAX_WBITS + (gzip_ ? kOfGzip : 0)) != Z_OK)
      throw Error::resource("no memory to decompress " + name() + " data", context());
  }
  ~Inflater() { ::inflateEnd(&stream_); }
  Inflater(Inflater&&) = delete;

  using Take = std::function<void(std::span<const std::byte>)>;
  using Read = std::function<void(std::uint64_t)>;

  void run(const Take& take, const Read& read) {
    do {
      while (!inflate_some(take, read)) {
        if (!fill()) throw corrupt("the " + name() + " data ends early");
      }
    } while (has_another_member());
  }

 private:
  // Decompresses until a member ends or the buffered input is used up. Returns true at the end of a member.
  bool inflate_some(const Take& take, const Read& read) {
    while (true) {
      stream_.next_out = reinterpret_cast<Bytef*>(plain_.data());
      stream_.avail_out = static_cast<uInt>(plain_.size());
      const uInt before = stream_.avail_in;
      const int result = ::inflate(&stream_, Z_NO_FLUSH);
      offset_ += before - stream_.avail_in;
      const std::size_t made = plain_.size() - stream_.avail_out;
      if (made != 0) {
        take(std::as_bytes(std::span(plain_).first(made)));
        read(offset_);
      }
      if (result == Z_MEM_ERROR) throw Error::resource("no memory to decompress " + name() + " data", context());
      if (result == Z_NEED_DICT) throw corrupt("broken " + name() + " data: it requires a dictionary");
      if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
        const std::string why = stream_.msg == nullptr ? "it is not " + name() : stream_.msg;
        throw corrupt("broken " + name() + " data: " + why);
      }
      if (result == Z_STREAM_END) return true;
      if (stream_.avail_in == 0 && made < plain_.size()) return false;
    }
  }

  // Reads the next piece of the file. Returns false at the end of the file.
  bool fill() {
    const std::size_t got =
        read_at(file_.get(), std::as_writable_bytes(std::span(stored_)), offset_ + stream_.avail_in, path_);
    stream_.next_in = reinterpret_cast<Bytef*>(stored_.data());
    stream_.avail_in = static_cast<uInt>(got);
    return got != 0;
  }

  // Returns true if another gzip member follows. Skips zeros between and after members, because tape programs pad files
  // with them. Other bytes after the last member are an error.
  bool has_another_member() {
    while (true) {
      for (; stream_.avail_in != 0 && *stream_.next_in == 0; --stream_.avail_in, ++stream_.next_in) ++offset_;
      if (stream_.avail_in != 0) break;
      if (!fill()) return false;
    }
    if (!gzip_ || *stream_.next_in != kGzipFirst) throw corrupt("other bytes follow the " + name() + " data");
    ::inflateReset(&stream_);
    return true;
  }

  std::string name() const { return gzip_ ? "gzip" : "zlib"; }
  ErrorContext context() const { return {.dataset = path_.string(), .offset = offset_}; }
  Error corrupt(std::string cause) const { return Error::corrupt(std::move(cause), context()); }

  const fs::path& path_;
  bool gzip_;
  Descriptor file_;
  std::vector<char> stored_, plain_;
  z_stream stream_ = {};
  std::uint64_t offset_ = 0;  // file offset of the next compressed byte, for messages
};

}  // namespace

FileCompression compression_of(const fs::path& file) {
  std::string block(kTarBlock, '\0');
  const Descriptor descriptor = Descriptor::open(file, O_RDONLY);
  const std::size_t got = read_at(descriptor.get(), std::as_writable_bytes(std::span(block)), 0, file);
  if (got < 2 || (got == kTarBlock && tar_checksum_matches(block))) return FileCompression::none;
  const auto first = static_cast<unsigned char>(block[0]), second = static_cast<unsigned char>(block[1]);
  const bool gzip = first == kGzipFirst && second == kGzipSecond;
  const bool zlib = begins_as_zlib(first, second) && file.filename().string().find("tfrec") != std::string::npos;
  if ((!gzip && !zlib) || begins_as_tfrecord(file)) return FileCompression::none;
  return gzip ? FileCompression::gzip : FileCompression::zlib;
}

void decompress(const fs::path& file, FileCompression compression,
                const std::function<void(std::span<const std::byte>)>& take,
                const std::function<void(std::uint64_t)>& read) {
  Inflater(file, compression).run(take, read);
}

}  // namespace penstock
