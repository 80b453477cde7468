#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include <base/printable.hpp>
#include <formats/io/hash.hpp>
#include <penstock/error.hpp>
#include <penstock/points.hpp>
#include <transforms/clouds/codecs/cloud.hpp>
#include <transforms/clouds/codecs/packed_cloud.hpp>
#include <transforms/clouds/samplers/point_order.hpp>
#include <transforms/clouds/steps/point_buffer.hpp>
#include <transforms/clouds/steps/point_step.hpp>
#include <transforms/decoders.hpp>
#include <transforms/recode/cloud_recoder.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kPackingSeed = 0x70656e73746f636b;  // constant, because packing has no user-defined seed

bool is_sized(SampleMethod method) {
  return method == SampleMethod::voxel || method == SampleMethod::poisson;
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    parts.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

SampleOptions sample_options(const std::string& text) {
  const std::size_t colon = text.find(':');
  const auto method = sample_method_named(text.substr(0, colon));
  const auto refuse = [&](const std::string& cause) {
    return Error::invalid_argument("presample \"" + text + "\": " + cause);
  };
  if (!method || *method == SampleMethod::blocks) {
    throw refuse("unknown method; expected random, fps, voxel, poisson, stratified or inverse_density");
  }
  double value = 0;
  if (colon != std::string::npos) {
    const auto [end, fault] = std::from_chars(text.data() + colon + 1, text.data() + text.size(), value);
    if (fault != std::errc{} || end != text.data() + text.size()) value = 0;
  }
  SampleOptions options{.method = *method, .voxel = VoxelPoint::first};
  if (is_sized(*method)) {
    if (!(value > 0)) throw refuse("requires a size above 0, as in voxel:0.05");
    options.size = value;
    options.voxel = VoxelPoint::centroid;
  } else {
    options.points = value >= 1 && value <= 1e9 ? static_cast<std::int64_t>(value) : 0;
    if (options.points == 0 || static_cast<double>(options.points) != value) {
      throw refuse("requires a whole number of points, as in fps:4096");
    }
  }
  return options;
}

std::string text_of(double value) {
  std::array<char, 32> digits{};
  const auto [end, fault] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return {digits.data(), end};
}

}  // namespace

CloudRecoding cloud_recoding(std::string_view presample, std::string_view order, std::string_view attributes) {
  CloudRecoding recoding;
  for (const std::string& part : split(presample)) recoding.presample.push_back(sample_options(part));
  if (order == "progressive") {
    recoding.order = PointOrder::random;
  } else if (order == "stratified") {
    recoding.order = PointOrder::stratified;
  } else if (order != "keep") {
    throw Error::invalid_argument("the order of points must be keep, progressive or stratified, not \"" +
                                  std::string(order) + "\"");
  }
  if (attributes != "none") recoding.attributes = split(attributes);
  return recoding;
}

std::string presample_text(const CloudRecoding& recoding) {
  std::string text;
  for (const SampleOptions& options : recoding.presample) {
    text += (text.empty() ? "" : ",") + std::string(name(options.method)) + ":" +
            (is_sized(options.method) ? text_of(options.size) : std::to_string(options.points));
  }
  return text;
}

std::string_view order_text(const CloudRecoding& recoding) {
  if (recoding.order == PointOrder::stratified) return "stratified";
  return recoding.order == PointOrder::random ? "progressive" : "keep";
}

std::string attributes_text(const CloudRecoding& recoding) {
  return recoding.attributes.empty() ? "none" : joined_text(recoding.attributes, ",");
}

struct CloudRecoder::State {
  explicit State(const CloudRecoding& chosen) : recoding(chosen) {
    if (!keeps_all_attributes()) decoders.emplace(DecodeOptions{.attributes = recoding.attributes});
    for (const SampleOptions& options : recoding.presample) {
      samplers.push_back(step::Sample{.points = options.points,
                                      .method = options.method,
                                      .size = options.size,
                                      .voxel = options.voxel,
                                      .slices = options.slices,
                                      .if_fewer = FewPoints::ragged}
                             .runner());
    }
  }

  bool keeps_all_attributes() const { return recoding.attributes == std::vector<std::string>{"all"}; }
  bool keeps(const std::string& attribute) const {
    return keeps_all_attributes() || std::ranges::find(recoding.attributes, attribute) != recoding.attributes.end();
  }

  // Decoders must be created with the attributes to decode. "all" attributes are known only from the value's header.
  Peeked open(const FieldBytes& field) {
    if (!keeps_all_attributes()) return decoders->peek(field);
    Decoders headers;
    const Peeked peeked = headers.peek(field);
    std::vector<std::string> names;
    if (peeked.layout.cloud) {
      for (const PointAttribute& kept : cloud_decoder(peeked).header().attributes) names.push_back(kept.name);
    }
    if (!decoders || names != decoded) {
      decoders.emplace(DecodeOptions{.attributes = names});
      decoded = names;
    }
    return decoders->peek(field);
  }

  void require_attributes(const CloudHeader& stored) const {
    if (keeps_all_attributes()) return;
    for (const std::string& wanted : recoding.attributes) attribute_number(stored, wanted);  // throws if it is missing
  }

  // Draws of a value's steps are independent; `step` is the step's number.
  static Random draws(std::string_view key, std::uint32_t step) { return {kPackingSeed, 0, fnv1a(key), step}; }

  void load(CloudDecoder& decoder, const FieldBytes& field) {
    const auto count = static_cast<std::size_t>(decoder.header().points);
    cloud.reset(count, 3);
    rows.resize(count * 3);
    decoder.coordinates(field, {}, rows.data());
    cloud.set(rows.data(), 3);
    // Sensors write NaN for a direction without a return. No sampler can place such a point.
    cloud.drop_nonfinite();
  }

  void sample_and_order(std::string_view key) {
    std::uint32_t step = 0;
    for (const auto& sampler : samplers) {
      Random random = draws(key, step++);
      sampler->apply(cloud, random);
    }
    if (recoding.order == PointOrder::stored) return;
    Random random = draws(key, step);
    cloud.take(recoding.order == PointOrder::random ? random_order(cloud.rows(), random)
                                                    : stratified_order(cloud.coordinates(), random));
  }

  PointOrder order_of_result(PointOrder stored) const {
    if (recoding.order != PointOrder::stored) return recoding.order;
    if (recoding.presample.empty()) return stored;
    return recoding.presample.back().method == SampleMethod::fps ? PointOrder::farthest : PointOrder::stored;
  }

  void gather_attributes(CloudDecoder& decoder, const FieldBytes& field, CloudHeader& header) {
    const CloudHeader& stored = decoder.header();
    columns.clear();
    for (std::size_t number = 0; number < stored.attributes.size(); ++number) {
      if (!keeps(stored.attributes[number].name)) continue;
      const std::size_t bytes = size_of(stored.attributes[number].dtype);
      values.resize(stored.points * bytes);
      decoder.attribute(field, {}, number, values.data());
      std::vector<std::byte>& column = columns.emplace_back(cloud.rows() * bytes);
      for (std::size_t i = 0; i < cloud.rows(); ++i) {
        std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(cloud.numbers()[i] * bytes), bytes,
                    column.begin() + static_cast<std::ptrdiff_t>(i * bytes));
      }
      header.attributes.push_back(stored.attributes[number]);
    }
  }

  void encode(const CloudHeader& header) {
    rows.resize(cloud.rows() * 3);
    cloud.get(rows.data(), 3);
    CloudColumns encoded{.coordinates = rows, .attributes = {}};
    for (const std::vector<std::byte>& column : columns) encoded.attributes.emplace_back(column);
    encode_cloud(header, encoded, made);
  }

  const CloudRecoding recoding;
  std::optional<Decoders> decoders;
  std::vector<std::string> decoded;  // the attributes of `decoders`, if all are kept
  std::vector<std::unique_ptr<PointRunner>> samplers;
  PointBuffer cloud;
  std::vector<float> rows;
  std::vector<std::byte> values, made;
  std::vector<std::vector<std::byte>> columns;
};

CloudRecoder::CloudRecoder(const CloudRecoding& recoding) : state_(std::make_unique<State>(recoding)) {}
CloudRecoder::~CloudRecoder() = default;
CloudRecoder::CloudRecoder(CloudRecoder&&) noexcept = default;

bool CloudRecoder::takes(const FieldSchema& schema) {
  return cloud_codec_named(schema.codec) != nullptr;
}

std::span<const std::byte> CloudRecoder::recode(const FieldSchema& schema, std::string_view key,
                                                std::span<const std::byte> value) {
  State& state = *state_;
  const FieldBytes field{&schema, value};
  CloudDecoder& decoder = cloud_decoder(state.open(field));
  state.require_attributes(decoder.header());
  state.load(decoder, field);
  state.sample_and_order(key);
  CloudHeader header{.points = state.cloud.rows(),
                     .origin = decoder.header().origin,
                     .attributes = {},
                     .order = state.order_of_result(decoder.header().order)};
  state.gather_attributes(decoder, field, header);
  state.encode(header);
  return state.made;
}

}  // namespace penstock
