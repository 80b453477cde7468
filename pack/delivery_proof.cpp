#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include <formats/field_types.hpp>
#include <pack/array_rows.hpp>
#include <pack/delivery_proof.hpp>
#include <pack/recoding.hpp>
#include <penstock/error.hpp>
#include <penstock/points.hpp>
#include <penstock/recoding.hpp>
#include <transforms/clouds/codecs/cloud.hpp>
#include <transforms/decoders.hpp>
#include <transforms/recode/cloud_recoder.hpp>
#include <transforms/value_reader.hpp>

namespace penstock {
namespace {

const std::string kOtherValue = "the bytes are correct, but a loader delivers other values for them";

std::string unreadable(const Error& error) {
  return "a loader can read the source's value, but not this one: " + error.cause();
}

// Runs `read` on the source's value. Returns nothing if a loader cannot read that value.
template <class Read>
auto of_source(Read read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::resource || error.kind() == ErrorKind::io) throw;
    return std::nullopt;
  }
}

// Returns the fault that `compare` reports. A packed value that cannot be read is a fault.
template <class Compare>
std::string fault(Compare compare) {
  try {
    return compare();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::resource || error.kind() == ErrorKind::io) throw;
    return unreadable(error);
  }
}

Layout layout_of(const FieldSchema& schema, std::span<const std::byte> value) {
  return Decoders(DecodeOptions{.pixels = Pixels::stored, .upright = true}).peek({&schema, value}).layout;
}

ReadValue value_of(const FieldSchema& schema, std::span<const std::byte> value) {
  ReadValue read;
  ValueReader().read(schema, value, read);
  return read;
}

std::string fault_of_pixels(const Compared& pair) {
  const auto theirs = of_source([&] { return value_of(pair.their_schema, pair.theirs); });
  if (!theirs) return {};
  return fault([&] { return value_of(pair.our_schema, pair.ours) == *theirs ? std::string() : kOtherValue; });
}

// Returns whether the longer side became `most` and both sides shrank by the same factor, within a pixel.
bool is_shrunk(const Shape& from, const Shape& to, std::int64_t most) {
  const double scale = static_cast<double>(most) / static_cast<double>(std::max(from[0], from[1]));
  const auto near = [&](std::size_t side) {
    return std::abs(static_cast<double>(from[side]) * scale - static_cast<double>(to[side])) <= 1;
  };
  return std::max(to[0], to[1]) == most && near(0) && near(1);
}

// Checks a JPEG file that was compressed again. Pixel values may differ, but the image size must be as requested.
std::string fault_of_again(const JpegRecoding& jpeg, const Compared& pair) {
  const auto theirs = of_source([&] { return layout_of(pair.their_schema, pair.theirs); });
  if (!theirs) return {};
  if (!theirs->image) return fault_of_pixels(pair);
  return fault([&] {
    const Layout ours = value_of(pair.our_schema, pair.ours).layout;
    const Shape &from = theirs->shape, &to = ours.shape;
    if (!ours.image || to[2] != from[2]) return kOtherValue;
    const bool large = jpeg.max_side != 0 && std::max(from[0], from[1]) > jpeg.max_side;
    return to == from || (large && is_shrunk(from, to, jpeg.max_side)) ? std::string() : kOtherValue;
  });
}

// The points of a cloud, each a row of bytes: coordinates, then the requested attributes.
class PointRows {
 public:
  PointRows(const FieldSchema& schema, std::span<const std::byte> value, std::vector<PointAttribute> wanted) {
    const FieldBytes field{&schema, value};
    std::vector<std::string> names;
    for (const PointAttribute& attribute : wanted) names.push_back(attribute.name);
    Decoders decoders(DecodeOptions{.attributes = names});
    CloudDecoder& decoder = cloud_decoder(decoders.peek(field));
    const auto points = static_cast<std::size_t>(decoder.header().points);
    for (const PointAttribute& attribute : wanted) row_ += size_of(attribute.dtype);
    bytes_.resize(points * row_);
    std::vector<float> coordinates(points * 3);
    decoder.coordinates(field, {}, coordinates.data());
    place(std::as_bytes(std::span(coordinates)), 0, sizeof(float) * 3);
    for (std::size_t point = 0; point < points; ++point) {
      const auto* xyz = coordinates.data() + 3 * point;
      finite_ += static_cast<std::size_t>(std::all_of(xyz, xyz + 3, [](float at) { return std::isfinite(at); }));
    }
    std::size_t at = sizeof(float) * 3;
    std::vector<std::byte> values;
    for (const PointAttribute& attribute : wanted) {
      const std::size_t number = attribute_number(decoder.header(), attribute.name), width = size_of(attribute.dtype);
      if (decoder.header().attributes[number].dtype != attribute.dtype)
        throw Error::shape("an attribute has another type");
      values.resize(points * width);
      decoder.attribute(field, {}, number, values.data());
      place(values, at, width);
      at += width;
    }
    for (std::size_t point = 0; point < points; ++point) sorted_.push_back(bytes_.data() + point * row_);
    std::ranges::sort(sorted_, [this](const std::byte* a, const std::byte* b) { return std::memcmp(a, b, row_) < 0; });
  }

  std::size_t count() const { return sorted_.size(); }
  std::size_t finite() const { return finite_; }  ///< points with finite coordinates, which are those that pack stores
  /// Returns whether every row of `few` is here at least as often as there.
  bool holds(const PointRows& few) const {
    return few.row_ == row_ &&
           std::includes(sorted_.begin(), sorted_.end(), few.sorted_.begin(), few.sorted_.end(),
                         [this](const std::byte* a, const std::byte* b) { return std::memcmp(a, b, row_) < 0; });
  }

 private:
  void place(std::span<const std::byte> column, std::size_t at, std::size_t width) {
    for (std::size_t point = 0; point * width < column.size(); ++point)
      std::memcpy(bytes_.data() + point * row_ + at, column.data() + point * width, width);
  }

  std::size_t row_ = sizeof(float) * 3, finite_ = 0;
  std::vector<std::byte> bytes_;
  std::vector<const std::byte*> sorted_;
};

// Returns a cloud's header without duplicate attribute names. The first attribute of a name stays, because a loader
// delivers that one.
CloudHeader header_of(const FieldSchema& schema, std::span<const std::byte> value) {
  Decoders decoders;
  CloudHeader header = cloud_decoder(decoders.peek({&schema, value})).header();
  std::vector<PointAttribute> first;
  for (PointAttribute& attribute : header.attributes)
    if (std::ranges::find(first, attribute.name, &PointAttribute::name) == first.end())
      first.push_back(std::move(attribute));
  header.attributes = std::move(first);
  return header;
}

const PointAttribute* attribute_named(const CloudHeader& cloud, const std::string& name) {
  const auto found = std::ranges::find(cloud.attributes, name, &PointAttribute::name);
  return found == cloud.attributes.end() ? nullptr : &*found;
}

std::vector<std::string> kept_attributes(const CloudRecoding& recoding, const CloudHeader& theirs) {
  if (recoding.attributes != std::vector<std::string>{"all"}) return recoding.attributes;
  std::vector<std::string> names;
  for (const PointAttribute& attribute : theirs.attributes) names.push_back(attribute.name);
  return names;
}

// Checks that the source has every attribute of the copy, and that the copy has all attributes that packing keeps.
std::string fault_of_attributes(const CloudRecoding& recoding, const CloudHeader& ours, const CloudHeader& theirs) {
  for (const auto& [name, dtype] : ours.attributes) {
    const PointAttribute* source = attribute_named(theirs, name);
    if (source == nullptr) return "its points have the attribute \"" + name + "\", but those of the source lack it";
    if (source->dtype != dtype) {
      return "the attribute \"" + name + "\" of its points is " + std::string(penstock::name(dtype)) +
             ", but in the source it is " + std::string(penstock::name(source->dtype));
    }
  }
  for (const std::string& name : kept_attributes(recoding, theirs)) {
    if (attribute_named(ours, name) == nullptr)
      return "its points lack the attribute \"" + name + "\", which packing keeps";
  }
  return {};
}

std::string fault_of_points(const CloudRecoding& recoding, const Compared& pair) {
  const auto theirs = of_source([&] { return header_of(pair.their_schema, pair.theirs); });
  if (!theirs) return {};
  return fault([&] {
    const CloudHeader ours = header_of(pair.our_schema, pair.ours);
    if (std::string other = fault_of_attributes(recoding, ours, *theirs); !other.empty()) return other;
    const PointRows our_points(pair.our_schema, pair.ours, ours.attributes);
    const auto their_points = of_source([&] { return PointRows(pair.their_schema, pair.theirs, ours.attributes); });
    if (!their_points) return std::string();
    const bool moved = std::ranges::any_of(
        recoding.presample, [](const SampleOptions& step) { return step.method == SampleMethod::voxel; });
    const bool all = recoding.presample.empty();
    const bool right =
        std::memcmp(ours.origin.data(), theirs->origin.data(), sizeof(ours.origin)) == 0 &&
        (all ? our_points.count() == their_points->finite() : our_points.count() <= their_points->finite());
    return right && (moved || their_points->holds(our_points)) ? std::string() : kOtherValue;
  });
}

std::string fault_of_decoded(const PixelRecoding& pixels, const Compared& pair) {
  return fault([&] {
    const Layout layout = value_of(pair.our_schema, pair.ours).layout;
    const bool right = layout.dtype == DType::u8 && layout.shape == Shape{pixels.height, pixels.width, 3};
    return right ? std::string() : kOtherValue;
  });
}

}  // namespace

std::string fault_of_copy(const Compared& pair) {
  const FieldSchema &our = pair.our_schema, &their = pair.their_schema;
  const bool alike = our.dtype == their.dtype && our.shape == their.shape && our.fixed == their.fixed;
  const auto codec_of = [&](const FieldSchema& schema) { return &codec_for(schema, pair.theirs); };
  const auto theirs = of_source([&] { return codec_of(their); });
  if (!theirs) return {};
  return fault([&] {
    if (alike && codec_of(our) == *theirs) return std::string();
    const auto layout = of_source([&] { return layout_of(their, pair.theirs); });
    return !layout || layout_of(our, pair.ours) == *layout ? std::string() : kOtherValue;
  });
}

std::string fault_of_file(const Compared& pair) {
  return fault_of_pixels(pair);
}

std::string fault_of_array(const Compared& pair) {
  const auto theirs = of_source([&] { return value_of(pair.their_schema, pair.theirs); });
  if (!theirs) return "the source's value is not an array";
  return fault([&] {
    const ReadValue ours = value_of(pair.our_schema, pair.ours);
    if (ours == *theirs) return std::string();
    const auto text = [](const Layout& layout) { return array_text(layout.dtype, layout.shape); };
    if (ours.layout == theirs->layout) return std::string("the elements of the array differ from the source's");
    return "the array is " + text(ours.layout) + ", but the source's is " + text(theirs->layout);
  });
}

std::string fault_of_recoding(const Recoding& recoding, const Compared& pair) {
  if (recoding.pixels.takes(pair.our_schema.name)) return fault_of_decoded(recoding.pixels, pair);
  if (!recoding.clouds.keeps_all() && CloudRecoder::takes(recognised(pair.their_schema, pair.theirs)))
    return fault_of_points(recoding.clouds, pair);
  const bool again = recoding.jpeg.max_side != 0 || recoding.jpeg.policy == JpegRecoding::Policy::quality;
  return again ? fault_of_again(recoding.jpeg, pair) : fault_of_pixels(pair);
}

}  // namespace penstock
