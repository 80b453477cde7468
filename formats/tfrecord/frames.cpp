#include <string>

#include <formats/io/checks_sums.hpp>
#include <formats/io/crc32c.hpp>
#include <formats/io/hash.hpp>
#include <formats/tfrecord/frames.hpp>

namespace penstock {
namespace {

bool header_is_right(std::span<const std::byte> header) {
  return little_endian<std::uint32_t>(header, 8) == masked_crc32c(crc32c(header.first(8))) || !kChecksSums;
}

bool is_gzip(std::span<const std::byte> bytes) {
  return text_of(bytes).starts_with("\x1F\x8B");
}

// RFC 1950: method 8, and a multiple of 31.
bool is_zlib(std::span<const std::byte> bytes) {
  const auto first = std::to_integer<unsigned>(bytes[0]), second = std::to_integer<unsigned>(bytes[1]);
  return first == 0x78 && (first << 8 | second) % 31 == 0;
}

}  // namespace

std::uint32_t masked_crc32c(std::uint32_t crc) {
  return (crc >> 15 | crc << 17) + 0xA282EAD8;
}

std::optional<std::uint64_t> TfrecordFrames::next_length(std::uint64_t ahead) {
  const std::uint64_t size = file_.size(), begin = next_;
  if (begin == size) return std::nullopt;
  if (begin == 0) refuse_compressed();
  if (size - begin < kTfrecordHeader) throw file_.corrupt("the file ends inside the header of a record", begin);
  const std::span<const std::byte> header = file_.read(begin, kTfrecordHeader, ahead);
  if (!header_is_right(header)) throw file_.corrupt("the checksum of a record's length differs", begin);
  const auto length = little_endian<std::uint64_t>(header, 0);
  const std::uint64_t left = size - begin - kTfrecordHeader;
  if (left < kTfrecordTrailer || length > left - kTfrecordTrailer) {
    throw file_.corrupt(
        "the file is cut off: a record of " + std::to_string(length) + " bytes has " + std::to_string(left) + " left",
        begin);
  }
  return length;
}

void TfrecordFrames::take(std::uint64_t length, std::uint32_t checksum) {
  stamp_ = mix64(mix64(stamp_ ^ length) ^ checksum);
  next_ += kTfrecordHeader + length + kTfrecordTrailer;
}

bool TfrecordFrames::next(TfrecordFrame& frame) {
  const std::optional<std::uint64_t> length = next_length(HeaderWindow::kAhead);
  if (!length) return false;
  const std::uint64_t begin = next_;
  const std::span<const std::byte> whole = file_.read(begin, kTfrecordHeader + *length + kTfrecordTrailer);
  frame = {.header = begin, .data = begin + kTfrecordHeader, .bytes = whole.subspan(kTfrecordHeader, *length)};
  const auto checksum = little_endian<std::uint32_t>(whole, kTfrecordHeader + *length);
  if (checksum != masked_crc32c(crc32c(frame.bytes)) && kChecksSums) {
    throw file_.corrupt("the checksum of a record's bytes differs", begin);
  }
  take(*length, checksum);
  return true;
}

bool TfrecordFrames::skip() {
  constexpr std::uint64_t kSmallRecord = std::uint64_t{64} << 10, kSmallAhead = std::uint64_t{4} << 10;
  const std::optional<std::uint64_t> length = next_length(HeaderWindow::kAhead);
  if (!length) return false;
  // Reads the next record's header together with this checksum.
  const std::uint64_t trailer = next_ + kTfrecordHeader + *length;
  const std::uint64_t ahead = *length > kSmallRecord ? kSmallAhead : HeaderWindow::kAhead;
  take(*length, little_endian<std::uint32_t>(file_.read(trailer, kTfrecordTrailer, ahead), 0));
  return true;
}

void TfrecordFrames::refuse_compressed() {
  if (file_.size() < kTfrecordHeader) return;
  const std::span<const std::byte> header = file_.read(0, kTfrecordHeader);
  if (header_is_right(header) || (!is_gzip(header) && !is_zlib(header))) return;
  const std::string name = is_gzip(header) ? "gzip" : "zlib";
  const std::string packed = "pack it (penstock pack, in Python ps.pack), or ";
  throw file_.unsupported("the file is compressed as a whole (" + name +
                              "), so its records cannot be read in random order: " + packed + "decompress it (" +
                              (is_gzip(header) ? "gzip -d" : "zlib-flate -uncompress") +
                              "), or write it without a compression_type",
                          0);
}

bool begins_as_tfrecord(const std::filesystem::path& path) {
  HeaderWindow file(path, path.filename().string());
  return file.size() >= kTfrecordHeader + kTfrecordTrailer &&
         header_is_right(file.read(0, kTfrecordHeader, kTfrecordHeader));
}

}  // namespace penstock
