#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>

#include <formats/encodings.hpp>
#include <formats/field_types.hpp>
#include <penstock/error.hpp>
#include <transforms/decoders.hpp>
#include <transforms/elements.hpp>
#include <transforms/output.hpp>
#include <transforms/program/compile.hpp>

namespace penstock {
namespace {

// Parses an integer. Blanks and line ends around it are ignored.
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
  explicit LabelRunner(std::int64_t classes) : classes_(classes) {}

  void fill(const SlotRow& row) override {
    const bool text_alone = codec_traits(row.field.schema->codec).free_text;
    const std::int64_t value = text_alone ? parse_integer(text(row.field)) : decode(row.field);
    if (classes_ == 0) {
      std::memcpy(row.slot.data(), &value, sizeof(value));
    } else {
      write_one(value, row.slot);
    }
    row.watch.lap(row.watch.times.decode);
  }

 private:
  void write_one(std::int64_t value, std::span<std::byte> slot) const {
    if (value < 0 || value >= classes_) {
      throw Error::corrupt("class " + std::to_string(value) +
                           " is out of range: label() has num_classes=" + std::to_string(classes_));
    }
    const float one = 1;
    std::memset(slot.data(), 0, slot.size());
    std::memcpy(slot.data() + static_cast<std::size_t>(value) * sizeof(one), &one, sizeof(one));
  }

  static std::string_view text(const FieldBytes& field) {
    return {reinterpret_cast<const char*>(field.bytes.data()), field.bytes.size()};
  }

  std::int64_t decode(const FieldBytes& field) {
    const Peeked peeked = decoders_.peek(field);
    const Layout& layout = peeked.layout;
    if (layout.image || element_count(layout.shape) != 1) {
      throw Error::shape("label() expects one integer, not " + std::string(name(layout.dtype)) + " " +
                         to_string(layout.shape) + disagreement(*field.schema));
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

  std::int64_t classes_;
  Decoders decoders_;
};

/// One integer per sample: a class; or a row of numbers with 1 at the class.
class LabelProgram final : public OutputProgram {
 public:
  LabelProgram(Output output, std::int64_t classes) : OutputProgram(std::move(output)), classes_(classes) {}
  std::unique_ptr<OutputRunner> runner() const override { return std::make_unique<LabelRunner>(classes_); }

 private:
  std::int64_t classes_;
};

std::int64_t classes_of(const Chain& chain) {
  const auto* label = chain.steps.empty() ? nullptr : chain.steps.front().as<step::Label>();
  return label == nullptr ? 0 : label->num_classes;
}

}  // namespace

std::unique_ptr<OutputProgram> compile_label(const OutputRequest& request) {
  for (const std::uint32_t source : request.sources) {
    const FieldSchema& schema = request.catalog->fields[source];
    const ValueKind kind = kind_of_codec(schema.codec);
    if (kind == ValueKind::image || kind == ValueKind::cloud) {
      throw request.misuse("label() cannot read field \"" + schema.name + "\", which holds " +
                           (kind == ValueKind::image ? "images" : "point clouds"));
    }
    if (schema.fixed && element_count(schema.shape) != 1) {
      throw request.misuse("label() cannot read field \"" + schema.name + "\", which is " +
                           std::string(name(schema.dtype)) + " " + to_string(schema.shape));
    }
  }
  const std::int64_t classes = classes_of(request.chain);
  Output output = classes == 0 ? request.output(DType::i64, {}) : request.output(DType::f32, {classes});
  output.verbatim = classes == 0 && request.stored_as(DType::i64, {});
  if (classes != 0) output.kind = RowKind::classes;
  if (classes == 0 && request.own_codec() == nullptr) output.keep = Keep::row;
  return std::make_unique<LabelProgram>(std::move(output), classes);
}

}  // namespace penstock
