#include <algorithm>

#include <formats/encodings.hpp>
#include <formats/extent.hpp>
#include <formats/field_types.hpp>
#include <formats/labels/shared_classes.hpp>
#include <pack/packed_fields.hpp>
#include <pack/recoding.hpp>
#include <penstock/error.hpp>

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

}  // namespace

PackedFields::PackedFields(const Dataset& source, const std::string& labels, std::span<const std::string> classes,
                           const Recoding& recoding) {
  if (!labels.empty()) labels_ = read_labels(labels, source, classes);
  for (std::uint32_t i = 0; i < source.fields().size(); ++i) {
    if (labels_ && labels_->field.name == source.fields()[i].name) continue;
    source_schemas_.push_back(recorded(source, i));
    schemas_.push_back(recoding.made(source_schemas_.back()));
    stored_.emplace_back(i);
  }
  if (labels_) {
    schemas_.push_back(labels_->field);
    source_schemas_.push_back(labels_->field);
    stored_.emplace_back(std::nullopt);
    classes_ = labels_->classes;
  } else {
    classes_.assign(source.classes().begin(), source.classes().end());
    if (!classes.empty()) renumber(source, classes);
  }
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
                                                    std::string& scratch) const {
  if (new_number_.empty() || !codec_traits(schemas_[number].codec).label) return value;
  const auto old = class_number(value, new_number_.size());
  if (!old) {
    throw Error::corrupt("'" + std::string(reinterpret_cast<const char*>(value.data()), value.size()) +
                         "' is not the number of one of the " + std::to_string(new_number_.size()) + " classes");
  }
  scratch = std::to_string(new_number_[*old]);
  return std::as_bytes(std::span(scratch));
}

}  // namespace penstock
