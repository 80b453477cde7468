// Parses tf.train.Example, the protobuf message in most TFRecord files, and locates its values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace penstock {

/// One feature of an Example. The views refer to the record.
struct ExampleFeature {
  enum class Kind : std::uint8_t { none, bytes, floats, ints };
  std::string_view name;
  Kind kind = Kind::none;
  std::uint64_t count = 0;           ///< number of values
  std::span<const std::byte> list;   ///< the message BytesList, FloatList or Int64List
  std::span<const std::byte> first;  ///< bytes: the first value; floats, ints: the first packed run
  bool one_run = false;              ///< `first` holds all values
};

/// Replaces `features` by those of the record. Returns false unless the record is an Example with at least one feature.
/// Unknown fields (a SequenceExample), a feature without a name, and inconsistent lengths return false. Source:
/// tensorflow/core/example/example.proto, feature.proto; protobuf "Encoding".
bool parse_example(std::span<const std::byte> record, std::vector<ExampleFeature>& features);

/// Returns the names in a SequenceExample, of its context and of its lists. Empty if the record is not one.
std::vector<std::string_view> sequence_features(std::span<const std::byte> record);

/// Return all values of a feature of that kind, packed or not. Only for results of parse_example().
std::vector<float> float_values(const ExampleFeature& feature);
std::vector<std::int64_t> int_values(const ExampleFeature& feature);
/// Returns all byte strings of such a feature. They refer to the record.
std::vector<std::span<const std::byte>> string_values(const ExampleFeature& feature);

}  // namespace penstock
