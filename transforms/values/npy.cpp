#include <algorithm>
#include <cstring>
#include <string>

#include <formats/text/npy_header.hpp>
#include <penstock/error.hpp>
#include <transforms/values/npy.hpp>

namespace penstock {
namespace {

bool is_npy(std::span<const std::byte> bytes) {
  return bytes.size() >= 6 && std::memcmp(bytes.data(), "\x93NUMPY", 6) == 0;
}

void swap_elements(std::byte* data, std::uint64_t count, std::size_t size) {
  for (std::uint64_t i = 0; i < count; ++i, data += size) std::reverse(data, data + size);
}

class NpyDecoder final : public Decoder {
 public:
  Layout peek(const FieldBytes& field) override {
    header_ = read_npy_header(field.bytes);
    const std::uint64_t available = field.bytes.size() - header_.data_begin;
    if (!field.ranges.empty() && !header_.shape.empty()) {
      const std::uint64_t row_bytes = header_.row_bytes();
      header_.shape[0] = row_bytes == 0 ? 0 : static_cast<std::int64_t>(available / row_bytes);
    }
    if (element_count(header_.shape) * size_of(header_.dtype) > available) {
      throw Error::corrupt("npy: ends before the last element of " + to_string(header_.shape));
    }
    return {.dtype = header_.dtype, .shape = header_.shape};
  }

  void decode(const FieldBytes& field, const Region* region, TensorView out) override {
    const std::uint64_t count = element_count(header_.shape);
    const std::size_t size = size_of(header_.dtype);
    if (region != nullptr || out.bytes() != count * size || field.bytes.size() - header_.data_begin < count * size) {
      throw Error::invalid_argument("npy: the output does not hold the value");
    }
    if (count == 0) return;
    const std::byte* stored = field.bytes.data() + header_.data_begin;
    if (header_.fortran) {
      to_c_order(stored, out.data, header_.shape, size);
    } else {
      std::memcpy(out.data, stored, count * size);
    }
    if (header_.swapped && size > 1) swap_elements(out.data, count, size);
  }

 private:
  NpyHeader header_{};
};

class NpyCodec final : public Codec {
 public:
  std::string_view name() const override { return "npy"; }
  bool recognises(std::span<const std::byte> first_bytes) const override { return is_npy(first_bytes); }
  std::unique_ptr<Decoder> decoder(const FieldSchema&, const DecodeOptions&) const override {
    return std::make_unique<NpyDecoder>();
  }

  std::optional<Layout> layout(const FieldHeader& field) const override {
    if (field.header.empty()) return std::nullopt;
    const NpyHeader header = read_npy_header(field.header);
    return Layout{.dtype = header.dtype, .shape = header.shape};
  }

  bool select(const FieldHeader& field, ByteRange rows, std::vector<ByteRange>& ranges) const override {
    if (field.header.empty()) return false;
    const NpyHeader header = read_npy_header(field.header);
    if (header.shape.empty() || header.fortran) return false;
    const std::uint64_t row_bytes = header.row_bytes();
    const std::uint64_t bytes = element_count(header.shape) * size_of(header.dtype);
    if (header.data_begin > field.length || bytes > field.length - header.data_begin) {
      throw Error::corrupt("npy: ends before the last element of " + to_string(header.shape));
    }
    if (rows.begin > rows.end || rows.end > static_cast<std::uint64_t>(header.shape[0])) {
      throw Error::shape("npy: rows " + std::to_string(rows.begin) + " to " + std::to_string(rows.end) + " of " +
                         to_string(header.shape));
    }
    ranges.push_back({0, header.data_begin});
    ranges.push_back({header.data_begin + rows.begin * row_bytes, header.data_begin + rows.end * row_bytes});
    return true;
  }

  std::vector<std::byte> header(std::span<const std::byte> bytes) const override {
    if (!is_npy(bytes)) return {};
    const auto kept = bytes.first(read_npy_header(bytes).data_begin);
    return {kept.begin(), kept.end()};
  }
};

}  // namespace

const Codec& npy_codec() {
  static const NpyCodec codec;
  return codec;
}

}  // namespace penstock
