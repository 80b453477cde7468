#include <algorithm>

#include <formats/encodings.hpp>
#include <formats/extent.hpp>
#include <formats/field_types.hpp>
#include <formats/format.hpp>
#include <formats/labels/shared_classes.hpp>
#include <pack/array_rows.hpp>
#include <pack/packed_fields.hpp>
#include <pack/recoding.hpp>
#include <penstock/error.hpp>
#include <transforms/values/npy.hpp>

namespace penstock {
namespace {

std::optional<std::uint64_t> first_with(const Dataset& source, std::uint32_t field) {
  std::vector<Piece> pieces;
  for (std::uint64_t sample = 0; sample < source.size(); ++sample) {
    if (source.locate(sample, field, pieces)) return sample;
  }
  return std::nullopt;
}

/// Returns the field's schema. If the name determines no codec, the first value's bytes do.
FieldSchema recorded(const Dataset& source, std::uint32_t field) {
  const FieldSchema& schema = source.fields()[field];
  require_one_codec(schema);
  const auto sample = schema.codec.empty() ? first_with(source, field) : std::nullopt;
  return sample ? recognised(schema, read_field(source, *sample, field)) : schema;
}

/// Returns the schema to which ArrayConverter converts the field. Nothing: its values stay as they are.
/// `were_arrays`: the source's rows were `.npy` values before they were packed.
std::optional<FieldSchema> converted_schema(const Dataset& source, std::uint32_t field, const FieldSchema& schema,
                                            bool were_arrays, const ConvertOptions& options,
                                            const std::function<void()>& tick) {
  const Format* format = format_named(options.format);
  const std::size_t dimensions = format == nullptr ? 0 : format->array_dimensions;
  if (dimensions == 0) {
    if (!were_arrays) return std::nullopt;
    return FieldSchema{.name = schema.name, .codec = std::string(npy_codec().name())};
  }
  if (!codec_traits(schema.codec).array_file) return std::nullopt;
  const auto evidence = options.world == 0 ? RowEvidence::all : RowEvidence::some;
  return schema_of_rows(source, field, dimensions, evidence, tick);
}

}  // namespace

PackedFields::PackedFields(const Dataset& source, const ConvertOptions& options, const std::function<void()>& tick)
    : arrays_before_(arrays_of(source)) {
  if (!options.labels.empty()) labels_ = read_labels(options.labels, source, options.classes);
  for (std::uint32_t i = 0; i < source.fields().size(); ++i) {
    if (!labels_ || labels_->field.name != source.fields()[i].name) add(source, i, options, tick);
  }
  if (labels_) {
    schemas_.push_back(labels_->field);
    source_schemas_.push_back(labels_->field);
    stored_.emplace_back(std::nullopt);
    converts_.push_back(false);
    classes_ = labels_->classes;
  } else {
    classes_.assign(source.classes().begin(), source.classes().end());
    if (!options.classes.empty()) renumber(source, options.classes);
  }
}

void PackedFields::add(const Dataset& source, std::uint32_t field, const ConvertOptions& options,
                       const std::function<void()>& tick) {
  const FieldSchema schema = recorded(source, field);
  const bool recodes = options.recoding.takes(schema);
  const bool were_arrays =
      !recodes && is_row(schema) && std::ranges::find(arrays_before_, schema.name) != arrays_before_.end();
  std::optional<FieldSchema> converted;
  if (!recodes) converted = converted_schema(source, field, schema, were_arrays, options, tick);
  source_schemas_.push_back(schema);
  schemas_.push_back(converted.value_or(options.recoding.made(schema)));
  stored_.emplace_back(field);
  converts_.push_back(converted.has_value());
  if (is_row(schemas_.back()) && (converted || were_arrays)) arrays_.push_back(schema.name);
}

void PackedFields::renumber(const Dataset& source, std::span<const std::string> classes) {
  for (const std::string& name : classes_) {
    const auto found = std::find(classes.begin(), classes.end(), name);
    if (found == classes.end()) {
      throw Error::invalid_argument(
          "class '" + name + "' is not among the " + std::to_string(classes.size()) + " given classes",
          {.dataset = source.path().string()});
    }
    new_number_.push_back(static_cast<std::uint64_t>(found - classes.begin()));
  }
  classes_.assign(classes.begin(), classes.end());
}

std::span<const std::byte> PackedFields::renumbered(std::uint32_t number, std::span<const std::byte> value,
                                                    std::vector<std::byte>& scratch) const {
  if (new_number_.empty() || !codec_traits(schemas_[number].codec).label) return value;
  const auto old = class_number(value, new_number_.size());
  if (!old) {
    throw Error::corrupt("'" + std::string(reinterpret_cast<const char*>(value.data()), value.size()) +
                         "' is not the number of one of the " + std::to_string(new_number_.size()) + " classes");
  }
  const std::string text = std::to_string(new_number_[*old]);
  const auto bytes = std::as_bytes(std::span(text));
  scratch.assign(bytes.begin(), bytes.end());
  return scratch;
}

}  // namespace penstock
