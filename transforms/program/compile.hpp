// Compiles one chain to its OutputProgram: it finds the kind of output, and whether its steps fit the field.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <penstock/chain.hpp>
#include <penstock/codec.hpp>
#include <penstock/error.hpp>
#include <transforms/clouds/codecs/cloud.hpp>
#include <transforms/output.hpp>
#include <transforms/program/output_program.hpp>

namespace penstock {

/// The chain's first step of that kind; null where it has none.
template <typename Kind>
const Kind* find_step(const Chain& chain) {
  for (const Step& step : chain.steps) {
    if (const auto* found = step.as<Kind>()) return found;
  }
  return nullptr;
}

/// What a field's first value tells.
struct FirstValue {
  const Codec* codec = nullptr;                     ///< null when neither schema nor bytes tell
  std::optional<Layout> layout;                     ///< of the value; unknown when no sample has the field
  std::optional<CloudHeader> cloud = std::nullopt;  ///< of a point cloud
  std::string place = {};                           ///< FirstBytes::place
};

/// One output on its way to a program.
struct OutputRequest {
  std::string name;
  Chain chain;
  std::vector<std::uint32_t> sources;
  const FieldCatalog* catalog;
  const OutputProgram* leader = nullptr;  ///< the followed output: an image, points, or items
  std::size_t first_place = 0;            ///< of the chain's first step, where it is the rest of a longer chain

  /// Error: invalid_argument or shape, naming output and chain.
  Error misuse(const std::string& cause) const;
  Error shape(const std::string& cause) const;
  const FieldSchema& schema(std::size_t source = 0) const { return catalog->fields[sources[source]]; }
  /// Of step number `step` of this chain: see penstock::transform_id().
  std::uint32_t transform_id(std::size_t step) const;
  /// Of decode(codec); null where the field's own codec serves.
  std::shared_ptr<const Codec> own_codec() const;
  /// Looks into the first value of the first source that has one.
  /// Throws Error: corrupt, unsupported, when that value cannot be read.
  FirstValue probe(const DecodeOptions& options = {}) const;
  /// The layout of the first value that has an element, as `peek` tells it; of the first value where none has one, and
  /// nothing where no sample has the field. Throws as probe().
  /// Sets `place` to FirstBytes::place of that value.
  std::optional<Layout> probe_items(const std::function<Layout(const FieldBytes&)>& peek,
                                    std::string* place = nullptr) const;
  /// Whether every source's stored bytes are elements of this layout, so that nothing needs decoding.
  bool stored_as(DType dtype, const Shape& shape) const;
  Output output(DType dtype, Shape shape) const;
};

/// Fills request.sources from chain and name. Throws Error: invalid_argument, for a field the dataset does not have.
void find_sources(OutputRequest& request);

/// Throws Error: shape, if the files of the dataset have different numbers of rows per value.
void require_equal_rows(const OutputRequest& request);

std::unique_ptr<OutputProgram> compile(const OutputRequest& request);

// One per kind of output; each checks the steps it allows.
std::unique_ptr<OutputProgram> compile_image(const OutputRequest& request);
std::unique_ptr<OutputProgram> compile_mask(const OutputRequest& request);
std::unique_ptr<OutputProgram> compile_coordinates(const OutputRequest& request, std::int64_t columns);
/// Throws Error: invalid_argument, where a chain for arrays would read lines of text without a dtype for their numbers.
void refuse_bytes_of_text(const OutputRequest& request);
/// `first`: what probe() has said already, or null.
std::unique_ptr<OutputProgram> compile_array(const OutputRequest& request, const FirstValue* first = nullptr);
std::unique_ptr<OutputProgram> compile_label(const OutputRequest& request);
std::unique_ptr<OutputProgram> compile_bytes(const OutputRequest& request);
std::unique_ptr<OutputProgram> compile_points(const OutputRequest& request);
/// attribute(), valid_mask() or rows of an array, of points or after follow("POINTS").
std::unique_ptr<OutputProgram> compile_point_follower(const OutputRequest& request);
std::unique_ptr<OutputProgram> compile_origin(const OutputRequest& request);
std::unique_ptr<OutputProgram> compile_own(const OutputRequest& request);
/// pad() behind a ragged output.
std::unique_ptr<OutputProgram> compile_padded(const OutputRequest& request);
/// valid_mask() or lengths() after follow("ITEMS").
std::unique_ptr<OutputProgram> compile_item_counts(const OutputRequest& request);
/// window_valid() after follow("OUTPUT"), of a window.
std::unique_ptr<OutputProgram> compile_inside(const OutputRequest& request);
/// Whether a chain goes along with the items of the very output that it follows, and not with an image behind that one.
bool follows_items(const Chain& chain);

}  // namespace penstock
