// Compiles one chain to its OutputProgram: finds the kind of output, and checks that the steps fit the field.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <penstock/chain.hpp>
#include <penstock/codec.hpp>
#include <penstock/error.hpp>
#include <transforms/clouds/codecs/cloud.hpp>
#include <transforms/output.hpp>
#include <transforms/program/output_program.hpp>

namespace penstock {

/// Returns the chain's first step of that kind, or null.
template <typename Kind>
const Kind* find_step(const Chain& chain) {
  for (const Step& step : chain.steps) {
    if (const auto* found = step.as<Kind>()) return found;
  }
  return nullptr;
}

/// Properties of a field's first value.
struct FirstValue {
  const Codec* codec = nullptr;                     ///< null if neither schema nor bytes determine it
  std::optional<Layout> layout;                     ///< of the value; nothing if no sample has the field
  std::optional<CloudHeader> cloud = std::nullopt;  ///< of a point cloud
  std::string place = {};                           ///< FirstBytes::place
};

/// An output to compile.
struct OutputRequest {
  std::string name;
  Chain chain;
  std::vector<std::uint32_t> sources;
  std::vector<std::pair<std::uint32_t, std::string>> members = {};  ///< of sources that are members of JSON objects
  const FieldCatalog* catalog;
  const OutputProgram* leader = nullptr;  ///< the followed output: an image, points or items
  std::size_t first_place = 0;            ///< index of the chain's first step, if the chain is the rest of a longer one

  /// Returns Error: invalid_argument or shape, naming output and chain.
  Error misuse(const std::string& cause) const;
  Error shape(const std::string& cause) const;
  const FieldSchema& schema(std::size_t source = 0) const { return catalog->fields[sources[source]]; }
  /// Returns penstock::transform_id() of step number `step` of this chain.
  std::uint32_t transform_id(std::size_t step) const;
  /// Returns the codec of decode(codec), or null if the field's own codec is used.
  std::shared_ptr<const Codec> own_codec() const;
  /// Inspects the first value of the first source that has one.
  /// Throws Error: corrupt, unsupported, if that value cannot be read.
  FirstValue probe(const DecodeOptions& options = {}) const;
  /// Returns the layout, from `peek`, of the first value that has an element. If none has one, returns that of the
  /// first value, and if no sample has the field, nothing. Sets `place` to FirstBytes::place of that value. Throws like
  /// probe().
  std::optional<Layout> probe_items(const std::function<Layout(const FieldBytes&)>& peek,
                                    std::string* place = nullptr) const;
  /// Returns whether every source's stored bytes are elements of this layout, so that decoding is unnecessary.
  bool stored_as(DType dtype, const Shape& shape) const;
  Output output(DType dtype, Shape shape) const;
};

/// Sets request.sources and request.members from chain and name. Throws Error: invalid_argument, if the dataset lacks a
/// field.
void find_sources(OutputRequest& request);

/// Throws Error: shape, if the files of the dataset have different numbers of rows per value.
void require_equal_rows(const OutputRequest& request);

std::unique_ptr<OutputProgram> compile(const OutputRequest& request);

// One function for each kind of output. Each checks the steps it allows.
std::unique_ptr<OutputProgram> compile_image(const OutputRequest& request);
std::unique_ptr<OutputProgram> compile_mask(const OutputRequest& request);
std::unique_ptr<OutputProgram> compile_coordinates(const OutputRequest& request, std::int64_t columns);
/// Throws Error: invalid_argument, if a chain for arrays would read lines of text without a dtype for their numbers.
void refuse_bytes_of_text(const OutputRequest& request);
/// `first` is the result of an earlier probe(), or null.
std::unique_ptr<OutputProgram> compile_array(const OutputRequest& request, const FirstValue* first = nullptr);
/// Compiles a chain that reads members of JSON objects ("json:weather"), as if each member were a field.
/// Strings are `txt` and other values `json`, as in the first object that has the member.
std::unique_ptr<OutputProgram> compile_members(const OutputRequest& request);
std::unique_ptr<OutputProgram> compile_label(const OutputRequest& request);
/// Returns whether label() reads the value as text although its field has no codec: the integers of WebDataset.
bool holds_integer_text(const FieldBytes& field);
std::unique_ptr<OutputProgram> compile_bytes(const OutputRequest& request);
std::unique_ptr<OutputProgram> compile_points(const OutputRequest& request);
/// Compiles attribute(), valid_mask() or rows of an array, for points or after follow("POINTS").
std::unique_ptr<OutputProgram> compile_point_follower(const OutputRequest& request);
std::unique_ptr<OutputProgram> compile_origin(const OutputRequest& request);
std::unique_ptr<OutputProgram> compile_own(const OutputRequest& request);
/// Compiles pad() after a ragged output.
std::unique_ptr<OutputProgram> compile_padded(const OutputRequest& request);
/// Compiles valid_mask() or lengths() after follow("ITEMS").
std::unique_ptr<OutputProgram> compile_item_counts(const OutputRequest& request);
/// Compiles window_valid() after follow("OUTPUT") of a window.
std::unique_ptr<OutputProgram> compile_inside(const OutputRequest& request);
/// Returns whether a chain uses the items of the output that it names in follow(), and not an image that this one
/// follows.
bool follows_items(const Chain& chain);

}  // namespace penstock
