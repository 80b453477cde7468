#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

#include <formats/encodings.hpp>
#include <formats/field_types.hpp>
#include <penstock/error.hpp>
#include <transforms/decoders.hpp>
#include <transforms/elements.hpp>
#include <transforms/first_bytes.hpp>
#include <transforms/output.hpp>
#include <transforms/program/compile.hpp>
#include <transforms/values/text.hpp>

namespace penstock {
namespace {

std::int64_t parse_integer(std::span<const std::byte> bytes) {
  if (const auto value = integer_in(bytes)) return *value;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  throw Error::corrupt("label() expects an integer, not \"" + std::string(text.substr(0, 40)) + "\"");
}

// "cls, cls2, id, index, inx"
std::string names_of_integers() {
  std::string names;
  for (const Encoding& encoding : encodings()) {
    if (!encoding.traits.label && !encoding.traits.int_text) continue;
    names += (names.empty() ? "" : ", ") + std::string(encoding.extensions[0]);
  }
  return names;
}

class LabelRunner final : public OutputRunner {
 public:
  explicit LabelRunner(std::int64_t classes) : classes_(classes) {}

  void fill(const SlotRow& row) override {
    const std::int64_t value = is_text(row.field) ? parse_integer(row.field.bytes) : decode(row.field);
    if (classes_ == 0) {
      std::memcpy(row.slot.data(), &value, sizeof(value));
    } else {
      write_one(value, row.slot);
    }
    row.watch.lap(row.watch.times.decode);
  }

 private:
  static bool is_text(const FieldBytes& field) {
    const FieldSchema& schema = *field.schema;
    if (codec_traits(schema.codec).free_text || holds_integer_text(field)) return true;
    if (schema.codec.empty() && !schema.fixed && recognised_codec(field.bytes) == nullptr) {
      throw Error::unsupported("label() cannot read the field \"" + schema.name +
                               "\": nothing identifies its codec. Integers as text are in fields called " +
                               names_of_integers() + disagreement(schema));
    }
    return false;
  }

  void write_one(std::int64_t value, std::span<std::byte> slot) const {
    if (value < 0 || value >= classes_) {
      throw Error::corrupt("class " + std::to_string(value) +
                           " is out of range: label() has num_classes=" + std::to_string(classes_));
    }
    const float one = 1;
    std::memset(slot.data(), 0, slot.size());
    std::memcpy(slot.data() + static_cast<std::size_t>(value) * sizeof(one), &one, sizeof(one));
  }

  std::int64_t decode(const FieldBytes& field) {
    const Peeked peeked = decoders_.peek(field);
    const Layout& layout = peeked.layout;
    if (layout.image || element_count(layout.shape) != 1) {
      throw Error::shape("label() expects one integer, not " + array_text(layout.dtype, layout.shape) +
                         disagreement(*field.schema));
    }
    std::byte stored[8];
    peeked.decoder->decode(field, nullptr, {stored, layout.dtype, layout.shape});
    if (!is_integer(layout.dtype)) check_whole(stored, layout.dtype);
    std::int64_t value = 0;
    convert_elements(stored, layout.dtype, reinterpret_cast<std::byte*>(&value), DType::i64, 1);
    if (layout.dtype == DType::u64 && std::memcmp(stored, &value, sizeof(value)) != 0) {
      std::uint64_t beyond = 0;
      std::memcpy(&beyond, stored, sizeof(beyond));
      throw Error::corrupt("label() expects an integer that fits int64, not " + std::to_string(beyond) +
                           "; array.decode() delivers uint64");
    }
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

bool holds_integer_text(const FieldBytes& field) {
  const std::string_view name = field.schema->name;
  if (!field.schema->codec.empty() || !extension_traits(name.substr(name.rfind('.') + 1)).int_text) return false;
  return recognised_codec(field.bytes) == nullptr;
}

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
                           array_text(schema.dtype, schema.shape));
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
