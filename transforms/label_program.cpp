#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>

#include <penstock/formats/error.hpp>
#include <penstock/transforms/compile.hpp>
#include <penstock/transforms/decoders.hpp>
#include <penstock/transforms/elements.hpp>

namespace penstock {
namespace {

// Text around a number: blanks and line ends at both sides are let pass.
std::int64_t parse_integer(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
  const std::string_view digits = text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (fault != std::errc{} || end != digits.data() + digits.size() || digits.empty()) {
    throw Error::corrupt("label() expects an integer, not \"" + std::string(text.substr(0, 40)) + "\"");
  }
  return value;
}

class LabelRunner final : public OutputRunner {
 public:
  void fill(const SlotRow& row) override {
    const std::int64_t value = row.field.schema->codec == "txt" ? parse_integer(text(row.field)) : decode(row.field);
    std::memcpy(row.slot.data(), &value, sizeof(value));
    row.watch.lap(row.watch.times.decode);
  }

 private:
  static std::string_view text(const FieldBytes& field) {
    return {reinterpret_cast<const char*>(field.bytes.data()), field.bytes.size()};
  }

  std::int64_t decode(const FieldBytes& field) {
    const Peeked peeked = decoders_.peek(field);
    const Layout& layout = peeked.layout;
    if (layout.image || element_count(layout.shape) != 1) {
      throw Error::shape("label() expects one integer, not " + std::string(name(layout.dtype)) + " " +
                         to_string(layout.shape));
    }
    std::byte stored[8];
    peeked.decoder->decode(field, nullptr, {stored, layout.dtype, layout.shape});
    if (!is_integer(layout.dtype)) check_whole(stored, layout.dtype);
    std::int64_t value = 0;
    convert_elements(stored, layout.dtype, reinterpret_cast<std::byte*>(&value), DType::i64, 1);
    return value;
  }

  static void check_whole(const std::byte* stored, DType dtype) {
    double value = 0;
    convert_elements(stored, dtype, reinterpret_cast<std::byte*>(&value), DType::f64, 1);
    if (!(std::abs(value) <= 0x1p53) || value != std::trunc(value)) {
      throw Error::corrupt("label() expects an integer, not " + std::to_string(value));
    }
  }

  Decoders decoders_;
};

/// One integer per sample: a class.
class LabelProgram final : public OutputProgram {
 public:
  using OutputProgram::OutputProgram;
  std::unique_ptr<OutputRunner> runner() const override { return std::make_unique<LabelRunner>(); }
};

}  // namespace

std::unique_ptr<OutputProgram> compile_label(const OutputRequest& request) {
  for (const std::uint32_t source : request.sources) {
    const FieldSchema& schema = request.catalog->fields[source];
    if (schema.codec == "jpeg" || schema.codec == "png") {
      throw request.misuse("label() does not fit field \"" + schema.name + "\", which holds images");
    }
    if (schema.fixed && element_count(schema.shape) != 1) {
      throw request.misuse("label() does not fit field \"" + schema.name + "\", which is " +
                           std::string(name(schema.dtype)) + " " + to_string(schema.shape));
    }
  }
  Output output = request.output(DType::i64, {});
  output.verbatim = request.stored_as(DType::i64, {});
  if (request.own_codec() == nullptr) output.keep = Keep::row;
  return std::make_unique<LabelProgram>(std::move(output));
}

}  // namespace penstock
