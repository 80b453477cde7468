#include <algorithm>

#include <base/printable.hpp>
#include <formats/encodings.hpp>
#include <formats/field_types.hpp>
#include <formats/json_member.hpp>
#include <transforms/chain/step_table.hpp>
#include <transforms/decoders.hpp>
#include <transforms/first_bytes.hpp>
#include <transforms/program/compile.hpp>
#include <transforms/values/raw.hpp>
#include <transforms/values/text.hpp>

namespace penstock {
namespace {

template <typename Kind>
bool has(const Chain& chain) {
  return find_step<Kind>(chain) != nullptr;
}

void require(bool fits, const OutputRequest& request, const std::string& cause) {
  if (!fits) throw request.misuse(cause);
}

// A user's codec must be the first step, and user's transforms the last ones. pad() must be last, or come directly
// before user's transforms.
void check_own_steps(const OutputRequest& request) {
  const auto& steps = request.chain.steps;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    require(i == 0 || !steps[i].is<step::OwnDecode>(), request, to_string(steps[i]) + " must come first");
    require(i == 0 || !steps[i - 1].is<step::PadItems>() || steps[i].is<step::OwnTransform>(), request,
            to_string(steps[i]) + " must come before " + to_string(steps[i == 0 ? 0 : i - 1]));
    require(i == 0 || !steps[i - 1].is<step::OwnTransform>() || steps[i].is<step::OwnTransform>(), request,
            to_string(steps[i]) + " must come before " + to_string(steps[i == 0 ? 0 : i - 1]));
  }
}

bool is_for(const Chain& chain, Domain domain) {
  return std::ranges::any_of(chain.steps, [domain](const Step& step) { return step.traits().domain == domain; });
}

std::unique_ptr<OutputProgram> compile_follower(const OutputRequest& request) {
  if (request.leader->points() != nullptr) return compile_point_follower(request);
  if (follows_items(request.chain)) return compile_array(request);
  require(!has<step::Attribute>(request.chain) && !has<step::PointsValidMask>(request.chain), request,
          "an image has no points to follow");
  const bool boxes = has<step::Boxes>(request.chain), points = has<step::Keypoints>(request.chain);
  if (!boxes && !points) return compile_mask(request);
  require(request.chain.steps.size() == 1, request,
          std::string(boxes ? "boxes()" : "keypoints()") + " must be the only step after follow()");
  return compile_coordinates(request, boxes ? 4 : 2);
}

// Returns the shape of an item if the schema describes lists of different lengths and gives their element type. Returns
// nothing for bytes.
std::optional<Shape> item_of_lists(const FieldSchema& schema) {
  const EncodingTraits& traits = codec_traits(schema.codec);
  const bool bytes = schema.dtype == DType::u8 && schema.shape.size() < 2 && schema.shape != Shape{-1};
  if (schema.fixed || !(traits.tokens || (traits.in_place && !bytes))) return std::nullopt;
  return schema.shape.size() < 2 ? Shape{} : Shape(schema.shape.begin() + 1, schema.shape.end());
}

std::unique_ptr<OutputProgram> compile_list(const OutputRequest& request, const Shape& item) {
  OutputRequest ragged = request;
  ragged.chain.steps = {step::Elements{.ragged = true, .shape = item}};
  return compile_array(ragged);
}

// Returns whether the first value of the field is a text that label() reads.
bool begins_with_integer_text(const OutputRequest& request) {
  if (!holds_integer_text({.schema = &request.schema(), .bytes = {}})) return false;  // do not read other values
  const FirstBytes value = request.catalog->first_value(request.sources.front(), nullptr);
  return value.exists && holds_integer_text(value.of(request.schema())) && integer_in(value.bytes);
}

// Compiles a chain without a step that determines the kind of output. The field's codec determines it.
std::unique_ptr<OutputProgram> compile_by_codec(const OutputRequest& request) {
  const FieldSchema& schema = request.schema();
  const EncodingTraits& traits = codec_traits(schema.codec);
  const bool plain = request.chain.steps.empty();
  if (plain && (traits.label || begins_with_integer_text(request))) return compile_label(request);
  const bool bytes = schema.dtype == DType::u8 && schema.shape.size() < 2;  // bytes are their own elements
  if (plain && traits.in_place && !bytes) require_equal_rows(request);
  if (const auto item = item_of_lists(schema); plain && item) return compile_list(request, *item);
  if (plain && (traits.free_text || (traits.in_place && !schema.fixed))) return compile_bytes(request);
  FirstValue sample;
  try {
    sample = request.probe();
  } catch (const Error& error) {
    if (!plain || error.kind() != ErrorKind::unsupported || !schema.differences.text.empty()) throw;
    const FirstBytes value = request.catalog->first_value(request.sources.front(), nullptr);
    if (is_delivered_as_stored(schema, value.bytes)) return compile_bytes(request);
    throw Error::unsupported(error.cause() + "; raw() delivers the stored bytes", error.context());
  }
  if (sample.layout && sample.layout->cloud) {
    const auto* cast = find_step<step::Cast>(request.chain);
    if (cast != nullptr && cast->of_array) refuse_bytes_of_text(request);
    return compile_points(request);
  }
  if (sample.layout && sample.layout->image) return compile_image(request);
  return compile_array(request, &sample);
}

// Checks steps that were added to the chain without the functions that check them.
void check_steps(const OutputRequest& request) {
  try {
    for (const Step& step : request.chain.steps) check_numbers(step);
  } catch (const Error& error) {
    throw request.misuse(error.cause());
  }
}

// Requires a fixed schema: all values consist of elements of its dtype and shape.
const Codec& codec_of_elements(const FieldSchema& schema) {
  return codec_traits(schema.codec).elements ? *codec_named(schema.codec) : raw_codec();
}

// Returns the first value with an element. If none has one, returns the first value that cannot be read, so that its
// error is reported.
FirstBytes first_with_element(const FieldCatalog& catalog, std::uint32_t field, const FieldSchema& schema,
                              const std::function<Layout(const FieldBytes&)>& peek) {
  if (!catalog.first_such) return {};
  const auto has_element = [&](const FirstBytes& value) { return element_count(peek(value.of(schema)).shape) != 0; };
  FirstBytes value = catalog.first_such(field, has_element);
  if (value.exists) return value;
  return catalog.first_such(field, [&](const FirstBytes& some) {
    try {
      peek(some.of(schema));
      return false;
    } catch (const std::exception&) {
      return true;
    }
  });
}

}  // namespace

Error OutputRequest::misuse(const std::string& cause) const {
  const std::string text = to_string(chain);
  return Error::invalid_argument("output \"" + name + "\"" + (text.empty() ? "" : " = " + text) + ": " + cause);
}

Error OutputRequest::shape(const std::string& cause) const {
  const std::string text = to_string(chain);
  return Error::shape("output \"" + name + "\"" + (text.empty() ? "" : " = " + text) + ": " + cause);
}

std::uint32_t OutputRequest::transform_id(std::size_t step) const {
  return penstock::transform_id(name, first_place + step);
}

std::shared_ptr<const Codec> OutputRequest::own_codec() const {
  const auto* own = chain.steps.empty() ? nullptr : chain.steps.front().as<step::OwnDecode>();
  return own == nullptr ? nullptr : own->codec;
}

FirstValue OutputRequest::probe(const DecodeOptions& options) const {
  const std::shared_ptr<const Codec> own = own_codec();
  for (const std::uint32_t source : sources) {
    const FieldSchema& schema = catalog->fields[source];
    if (schema.fixed && own == nullptr) {
      const Codec& codec = codec_of_elements(schema);
      return {&codec, codec.layout({&schema, {}, 0})};
    }
    const FirstBytes value = catalog->first_value(source, own.get());
    if (!value.exists) continue;
    try {
      const Codec& codec = own != nullptr ? *own : codec_for(schema, value.bytes);
      const std::unique_ptr<Decoder> decoder = codec.decoder(schema, options);
      const Layout layout = decoder->peek(value.of(schema));
      FirstValue first{.codec = &codec, .layout = layout, .cloud = std::nullopt, .place = value.place};
      if (layout.cloud) first.cloud = static_cast<const CloudDecoder&>(*decoder).header();
      return first;
    } catch (const Error& error) {
      throw error.in({.field = schema.name});
    } catch (const std::exception& error) {
      throw misuse("field \"" + schema.name + "\": " + error.what());
    }
  }
  return {};
}

std::optional<Layout> OutputRequest::probe_items(const std::function<Layout(const FieldBytes&)>& peek,
                                                 std::string* place) const {
  const std::shared_ptr<const Codec> own = own_codec();
  std::optional<Layout> found;
  if (place != nullptr) place->clear();
  for (const std::uint32_t source : sources) {
    const FieldSchema& schema = catalog->fields[source];
    if (schema.fixed && own == nullptr) return codec_of_elements(schema).layout({&schema, {}, 0});
    FirstBytes value = first_with_element(*catalog, source, schema, peek);
    if (!value.exists) value = catalog->first_value(source, own.get());
    if (!value.exists) continue;
    try {
      const Layout layout = peek(value.of(schema));
      if (!found || element_count(layout.shape) != 0) found = layout;
      if (place != nullptr) *place = value.place;
      if (element_count(layout.shape) != 0) return found;
    } catch (const Error& error) {
      throw error.in({.field = schema.name});
    } catch (const std::exception& error) {
      throw misuse("field \"" + schema.name + "\": " + error.what());
    }
  }
  return found;
}

void require_equal_rows(const OutputRequest& request) {
  if (request.own_codec() != nullptr) return;
  for (const std::uint32_t source : request.sources) {
    const FieldSchema& schema = request.catalog->fields[source];
    if (!schema.differences.rows) continue;
    throw request.shape("the files disagree on field \"" + schema.name + "\": " + schema.differences.text +
                        "; use array.decode(ragged=True) for values of different lengths, or array.random_slice(rows) "
                        "for equally many rows of each");
  }
}

bool OutputRequest::stored_as(DType dtype, const Shape& shape) const {
  if (own_codec() != nullptr) return false;
  return std::ranges::all_of(sources, [&](std::uint32_t source) {
    const FieldSchema& schema = catalog->fields[source];
    return schema.fixed && codec_traits(schema.codec).in_place && schema.dtype == dtype && schema.shape == shape;
  });
}

Output OutputRequest::output(DType dtype, Shape shape) const {
  return {.name = name, .sources = sources, .dtype = dtype, .shape = std::move(shape)};
}

bool follows_items(const Chain& chain) {
  const auto* elements = find_step<step::Elements>(chain);
  return has<step::ValidMask>(chain) || has<step::Lengths>(chain) || (elements != nullptr && elements->ragged);
}

// Checks this before the field is looked up, because a step that only follows needs no field of the output's name.
void require_followed(const OutputRequest& request) {
  const Chain& chain = request.chain;
  const bool follows = has<step::ValidMask>(chain) || has<step::Lengths>(chain) || has<step::Boxes>(chain) ||
                       has<step::Keypoints>(chain) || has<step::WindowValid>(chain);
  if (!follows || chain.followed) return;
  throw request.misuse(to_string(chain.steps.back()) + " must come after follow(\"OUTPUT\")");
}

namespace {

// Rejects fields that have no common type in the dataset's files.
void require_alike(const OutputRequest& request) {
  const bool bytes = has<step::Raw>(request.chain) || request.own_codec() != nullptr;
  for (const std::uint32_t source : request.sources) {
    const FieldSchema& schema = request.catalog->fields[source];
    bytes ? require_one_type(schema) : require_one_codec(schema);
  }
}

}  // namespace

void find_sources(OutputRequest& request) {
  require_followed(request);
  const std::vector<std::string> own{request.name};
  const std::vector<std::string>& wanted = request.chain.sources.empty() ? own : request.chain.sources;
  const auto fields = request.catalog->fields;
  for (const std::string& source : wanted) {
    const auto found = find_value(fields, source);
    if (!found) continue;
    request.sources.push_back(found->field);
    if (!found->member.empty()) request.members.emplace_back(found->field, found->member);
  }
  if (!request.sources.empty()) return require_alike(request);
  const bool counts =
      has<step::ValidMask>(request.chain) || has<step::Lengths>(request.chain) || has<step::WindowValid>(request.chain);
  if (counts && request.chain.sources.empty() && request.leader != nullptr) {
    request.sources = request.leader->output().sources;
    return;
  }
  const std::string known = joined_text(fields, ", ", &FieldSchema::name);
  const auto& why_absent = request.catalog->why_absent;
  std::string advice = why_absent ? why_absent(wanted.front()) : "";
  if (advice.empty() && request.chain.sources.empty()) advice = "field(\"NAME\") | ... reads a field of another name";
  throw request.misuse("the dataset has no field \"" + wanted.front() + "\" (it has: " + known + ")" +
                       (advice.empty() ? "" : "; " + advice));
}

namespace {

// Offsets of rows and counts of items are computed from bytes, so sizes must be bounded.
void check_bytes(const OutputRequest& request, const Output& output) {
  constexpr double kAddresses = 0x1p47;  // address space of a process
  double bytes = static_cast<double>(size_of(output.dtype));
  for (const std::int64_t side : output.shape) bytes *= static_cast<double>(side);
  const std::string row =
      std::string(output.ragged ? "an item of a row" : "a row") + " is " + array_text(output.dtype, output.shape);
  if (!(bytes <= kAddresses)) throw request.shape(row + ", larger than any memory");
  if (output.ragged && bytes == 0)
    throw request.shape(row + ", which has no elements, so the number of items cannot be computed from bytes");
}

std::unique_ptr<OutputProgram> compile_kind(const OutputRequest& request) {
  const Chain& chain = request.chain;
  check_steps(request);
  check_own_steps(request);
  if (has<step::OwnTransform>(chain)) return compile_own(request);
  if (has<step::PadItems>(chain)) return compile_padded(request);
  if (has<step::ValidMask>(chain) || has<step::Lengths>(chain)) return compile_item_counts(request);
  if (has<step::WindowValid>(chain)) return compile_inside(request);
  if (has<step::Origin>(chain)) return compile_origin(request);
  if (chain.followed) return compile_follower(request);
  if (has<step::Label>(chain)) {
    require(chain.steps.size() == 1, request, "label() must be the only step of its chain");
    return compile_label(request);
  }
  if (has<step::Raw>(chain)) {
    require(chain.steps.size() == 1, request, "raw() must be the only step of its chain");
    return compile_bytes(request);
  }
  if (has<step::Attribute>(chain)) return compile_point_follower(request);
  require(!has<step::PointsValidMask>(chain), request, "points.valid_mask() must come after follow(\"OUTPUT\")");
  const bool array = is_for(chain, Domain::array), image = is_for(chain, Domain::image);
  const bool cloud = is_for(chain, Domain::points);
  require(array + image + cloud <= 1, request, "steps for images, arrays and points cannot be combined in one chain");
  if (cloud) return compile_points(request);
  if (image) return compile_image(request);
  if (array) return compile_array(request);
  return compile_by_codec(request);
}

}  // namespace

std::unique_ptr<OutputProgram> compile(const OutputRequest& request) {
  std::unique_ptr<OutputProgram> program = request.members.empty() ? compile_kind(request) : compile_members(request);
  check_bytes(request, program->output());
  return program;
}

}  // namespace penstock
