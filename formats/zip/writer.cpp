#include <algorithm>
#include <bit>
#include <string>
#include <utility>
#include <vector>

#include <base/printable.hpp>
#include <formats/extent.hpp>
#include <formats/filters/deflate.hpp>
#include <formats/index/index.hpp>
#include <formats/packed/sample_order.hpp>
#include <formats/streams/buffered_file.hpp>
#include <formats/tar/names.hpp>
#include <formats/zip/layout.hpp>
#include <formats/zip/writer.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

using namespace zip;

constexpr std::uint64_t kLargestAlign = std::uint64_t{32} << 10;  // an extra field has at most 65535 bytes
constexpr std::uint16_t kNeedsZip64 = 45, kNeedsFolders = 20;
constexpr std::uint16_t kDate = 0x0021;          // 1980-01-01
constexpr std::uint16_t kPaddingExtra = 0xD935;  // the id of Android's zipalign: alignment, then zeros
constexpr std::uint32_t kPaddingHeader = 2 + 2 + 2;
constexpr std::uint32_t kRegularFile = 0100644U << 16;

/// Builds a record of little-endian numbers.
class Record {
 public:
  Record& u16(std::uint64_t value) { return add(value, 2); }
  Record& u32(std::uint64_t value) { return add(value, 4); }
  Record& u64(std::uint64_t value) { return add(value, 8); }
  Record& text(std::string_view value) {
    bytes_ += value;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  Record& add(std::uint64_t value, int count) {
    for (; count > 0; --count, value >>= 8) bytes_ += static_cast<char>(value & 0xFF);
    return *this;
  }
  std::string bytes_;
};

bool in_64(std::uint64_t value) {
  return value >= kIn64;
}
std::uint64_t low_32(std::uint64_t value) {
  return in_64(value) ? kIn64 : value;
}

class ZipWriter final : public ShardWriter {
 public:
  ZipWriter(const std::filesystem::path& path, const ShardOptions& options)
      : options_(options), order_(options_.fields), file_(path, options.object) {
    for (const FieldSchema& schema : options_.fields) builder_.field(schema);
  }

  void add(std::string_view key, std::span<const FieldValue> fields) override {
    const ErrorContext sample{.shard = file_.path().filename().string(), .key = std::string(key)};
    const std::span<const FieldValue> sorted = order_.sorted(fields, sample);
    std::vector<std::string> names;  // first, so that a sample without valid names writes nothing
    for (const FieldValue& value : sorted) names.push_back(name_of(key, value.field, sample));
    builder_.add_sample(key);
    for (std::size_t i = 0; i < sorted.size(); ++i) add_entry(names[i], sorted[i], i == 0 ? options_.align : 1);
  }

  std::uint64_t bytes() const override { return file_.position() + directory_.size() + kEndRecord; }

  Index finish() override {
    const std::uint64_t begin = file_.position();
    file_.append(directory_);
    write_end(begin);
    file_.finish();
    builder_.add_file({.path = file_.path().filename().string(), .size = file_.position(), .stamp = file_.stamp()});
    return std::move(builder_).finish();
  }

  const ObjectStream* object() const override { return file_.object(); }

 private:
  std::string name_of(std::string_view key, std::uint32_t field, const ErrorContext& sample) const {
    try {
      std::string name = tar_member_name(key, options_.fields[field].name);
      if (name.size() > 0xFFFF) throw Error::unsupported("a zip entry's name has at most 65535 bytes");
      return name;
    } catch (const Error& error) {
      throw error.in(sample).in({.field = options_.fields[field].name});
    }
  }

  // Returns an extra field that moves the data, which would begin at `data`, to a multiple of `align`.
  static std::string padding(std::uint64_t data, std::uint64_t align) {
    if (data % align == 0) return {};
    const std::uint64_t begin = data + kPaddingHeader;
    const std::uint64_t zeros = (align - begin % align) % align;
    return Record().u16(kPaddingExtra).u16(2 + zeros).u16(align).text(std::string(zeros, '\0')).bytes();
  }

  void add_entry(const std::string& name, const FieldValue& value, std::uint64_t align) {
    const std::uint64_t header = file_.position(), size = value.bytes.size();
    const std::uint64_t flags = is_printable(name) ? kUtf8 : 0;
    std::string extra;
    if (in_64(size)) extra = Record().u16(kZip64Extra).u16(16).u64(size).u64(size).bytes();
    extra += padding(header + kLocalHeader + name.size() + extra.size(), align);
    const std::uint32_t crc = crc32(value.bytes);
    const auto common = [&](Record record, std::uint16_t needed) {
      return record.u16(needed)
          .u16(flags)
          .u16(kStored)
          .u16(0)
          .u16(kDate)
          .u32(crc)
          .u32(low_32(size))
          .u32(low_32(size))
          .u16(name.size());
    };
    const std::uint16_t needed = in_64(size) ? kNeedsZip64 : kNeedsFolders;
    file_.append(common(Record().u32(kLocalSignature), needed).u16(extra.size()).text(name).text(extra).bytes());
    const std::uint64_t data = file_.position();
    file_.append(value.bytes);

    Record sizes;
    if (in_64(size)) sizes.u64(size).u64(size);
    if (in_64(header)) sizes.u64(header);
    std::string central_extra;
    if (!sizes.bytes().empty()) {
      central_extra = Record().u16(kZip64Extra).u16(sizes.bytes().size()).text(sizes.bytes()).bytes();
    }
    const std::uint16_t central_needed = central_extra.empty() ? kNeedsFolders : kNeedsZip64;
    directory_ += common(Record().u32(kCentralSignature).u16(kMadeByUnix << 8 | kNeedsZip64), central_needed)
                      .u16(central_extra.size())
                      .u16(0)
                      .u16(0)
                      .u16(0)
                      .u32(kRegularFile)
                      .u32(low_32(header))
                      .text(name)
                      .text(central_extra)
                      .bytes();
    ++entries_;

    builder_.set(value.field, Extent{.file = 0, .offset = data, .length = size}, value.crc32c);
    if (!value.header.empty()) builder_.set_header(value.field, value.header);
    if (!value.range_sums.empty()) builder_.set_range_sums(value.field, value.range_sums);
  }

  void write_end(std::uint64_t begin) {
    const std::uint64_t length = directory_.size(), end = begin + length;
    if (entries_ >= kCountIn64 || in_64(length) || in_64(begin)) {
      file_.append(Record()
                       .u32(kEnd64Signature)
                       .u64(kEnd64Record - 12)
                       .u16(kMadeByUnix << 8 | kNeedsZip64)
                       .u16(kNeedsZip64)
                       .u32(0)
                       .u32(0)
                       .u64(entries_)
                       .u64(entries_)
                       .u64(length)
                       .u64(begin)
                       .bytes());
      file_.append(Record().u32(kLocator64Signature).u32(0).u64(end).u32(1).bytes());
    }
    const std::uint64_t count = std::min<std::uint64_t>(entries_, kCountIn64);
    file_.append(Record()
                     .u32(kEndSignature)
                     .u16(0)
                     .u16(0)
                     .u16(count)
                     .u16(count)
                     .u32(low_32(length))
                     .u32(low_32(begin))
                     .u16(0)
                     .bytes());
  }

  ShardOptions options_;
  SampleOrder order_;
  BufferedFile file_;
  IndexBuilder builder_;
  std::string directory_;  // the central directory so far
  std::uint64_t entries_ = 0;
};

}  // namespace

std::unique_ptr<ShardWriter> write_zip(const std::filesystem::path& path, const ShardOptions& options) {
  if (!std::has_single_bit(options.align) || options.align > kLargestAlign) {
    throw Error::invalid_argument("align must be a power of two up to 32 KiB for zip, not " +
                                  std::to_string(options.align));
  }
  return std::make_unique<ZipWriter>(path, options);
}

std::uint64_t zip_room(std::string_view key, std::string_view field, std::uint64_t length) {
  constexpr std::uint64_t kRecords = kLocalHeader + kCentralHeader;
  return kRecords + 2 * (key.size() + 1 + field.size()) + length;
}

}  // namespace penstock
