#include <algorithm>
#include <bit>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <formats/extent.hpp>
#include <formats/index/index.hpp>
#include <formats/streams/buffered_file.hpp>
#include <formats/tar/header.hpp>
#include <formats/tar/names.hpp>
#include <formats/tar/pax.hpp>
#include <formats/tar/writer.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kLargestAlign = std::uint64_t{1} << 20;
constexpr std::uint64_t kEndMarker = 2 * kTarBlock;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

/// Returns the pax records that a member needs. A comment among them moves its data, which would follow header and
/// records at `position`, to a multiple of `align`. Empty if the ustar header is enough.
std::string pax_body(std::string_view name, std::uint64_t size, std::uint64_t position, std::uint64_t align) {
  std::string body;
  if (!fits_ustar(name)) body += pax_record("path", name);
  if (size > kUstarMaxSize) body += pax_record("size", std::to_string(size));
  if (body.empty() && (position + kTarBlock) % align == 0) return body;

  const std::uint64_t data = position + kTarBlock + tar_padded(body.size()) + kTarBlock;
  std::uint64_t gap = (align - data % align) % align;
  // A pax header must contain at least one record, so this makes space for the comment.
  if (body.empty() && gap == 0) gap = align;
  if (gap != 0) body += pax_comment(tar_padded(body.size()) + gap - body.size());
  return body;
}

class TarWriter final : public ShardWriter {
 public:
  TarWriter(const std::filesystem::path& path, const ShardOptions& options)
      : options_(options), align_(std::max<std::uint64_t>(options.align, kTarBlock)), file_(path, options.object) {
    for (const FieldSchema& schema : options_.fields) builder_.field(schema);
  }

  void add(std::string_view key, std::span<const FieldValue> fields) override {
    order_.assign(fields.begin(), fields.end());
    std::sort(order_.begin(), order_.end(), [](const auto& a, const auto& b) { return a.field < b.field; });
    name_members(key);  // first, so that a sample without valid names writes nothing
    last_key_ = key;
    builder_.add_sample(key);
    for (std::size_t i = 0; i < order_.size(); ++i) add_field(names_[i], order_[i], i == 0 ? align_ : kTarBlock);
  }

  std::uint64_t bytes() const override { return file_.position() + kEndMarker; }

  Index finish() override {
    file_.append_zeros(kEndMarker);
    file_.finish();
    builder_.add_file({.path = file_.path().filename().string(), .size = file_.position(), .stamp = file_.stamp()});
    return std::move(builder_).finish();
  }

  const ObjectStream* object() const override { return file_.object(); }

 private:
  void name_members(std::string_view key) {
    const ErrorContext sample{.shard = file_.path().filename().string(), .key = std::string(key)};
    if (builder_.size() != 0 && key == last_key_) throw Error::invalid_argument("two samples have this key", sample);
    names_.clear();
    for (const FieldValue& value : order_) {
      const bool twice = !names_.empty() && order_[names_.size() - 1].field == value.field;
      if (value.field >= options_.fields.size() || twice) {
        throw Error::invalid_argument("field " + std::to_string(value.field) + " is unknown or given twice", sample);
      }
      try {
        names_.push_back(tar_member_name(key, options_.fields[value.field].name));
      } catch (const Error& error) {
        throw error.in(sample).in({.field = options_.fields[value.field].name});
      }
    }
  }

  void add_field(std::string_view name, const FieldValue& value, std::uint64_t align) {
    const std::string pax = pax_body(name, value.bytes.size(), file_.position(), align);
    if (!pax.empty()) append_member("././@PaxHeader", 'x', bytes_of(pax));
    const std::uint64_t offset = append_member(name, '0', value.bytes);
    builder_.set(value.field, Extent{.file = 0, .offset = offset, .length = value.bytes.size()}, value.crc32c);
    if (!value.header.empty()) builder_.set_header(value.field, value.header);
    if (!value.range_sums.empty()) builder_.set_range_sums(value.field, value.range_sums);
  }

  /// Returns the offset of the data.
  std::uint64_t append_member(std::string_view name, char type, std::span<const std::byte> data) {
    file_.append(bytes_of(write_tar_header(name, type, data.size())));
    const std::uint64_t offset = file_.position();
    file_.append(data);
    file_.append_zeros(tar_padded(data.size()) - data.size());
    return offset;
  }

  ShardOptions options_;
  std::uint64_t align_;
  BufferedFile file_;
  IndexBuilder builder_;
  std::string last_key_;
  std::vector<FieldValue> order_;   // of the current sample, in the schema's order
  std::vector<std::string> names_;  // member names of the current sample
};

}  // namespace

std::unique_ptr<ShardWriter> write_tar(const std::filesystem::path& path, const ShardOptions& options) {
  if (!std::has_single_bit(options.align) || options.align > kLargestAlign) {
    throw Error::invalid_argument("align must be a power of two up to 1 MiB, not " + std::to_string(options.align));
  }
  return std::make_unique<TarWriter>(path, options);
}

std::uint64_t tar_room(std::string_view key, std::string_view field, std::uint64_t length) {
  constexpr std::size_t kLongestName = 100;  // the prefix may hold more, but not every name splits
  const bool pax = key.size() + 1 + field.size() > kLongestName;
  return kTarBlock + tar_padded(length) + (pax ? 2 * kTarBlock : 0);
}

}  // namespace penstock
