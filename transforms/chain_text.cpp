#include <array>
#include <charconv>

#include <penstock/transforms/chain.hpp>
#include <penstock/transforms/codec.hpp>
#include <penstock/transforms/transform.hpp>

namespace penstock {
namespace {

// The shortest text that reads back as the same number, so that equal chains print alike everywhere.
template <typename Number>
std::string text(Number value) {
  std::array<char, 32> digits{};
  const auto [end, fault] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return {digits.data(), end};
}

std::string text(const std::vector<float>& values) {
  std::string list = "[";
  for (const float value : values) list += (list.size() > 1 ? ", " : "") + text(value);
  return list + "]";
}

std::string pair_text(double first, double second) {
  return "(" + text(first) + ", " + text(second) + ")";
}

// Names of attributes come from files: those that are no plain words stand in quotes.
std::string quoted(const std::string& name) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  return !name.empty() && name.find_first_not_of(kPlain) == std::string::npos ? name : '"' + name + '"';
}

class StepText {
 public:
  std::string operator()(const step::Decode&) const { return "image.decode()"; }
  std::string operator()(const step::Elements&) const { return "array.decode()"; }
  std::string operator()(const step::RandomResizedCrop& crop) const {
    return "image.random_resized_crop(" + text(crop.height) + ", " + text(crop.width) +
           ", scale=" + pair_text(crop.scale_min, crop.scale_max) +
           ", ratio=" + pair_text(crop.ratio_min, crop.ratio_max) + ")";
  }
  std::string operator()(const step::Resize& resize) const {
    if (resize.short_side != 0) return "image.resize(" + text(resize.short_side) + ")";
    return "image.resize(" + text(resize.height) + ", " + text(resize.width) + ")";
  }
  std::string operator()(const step::CenterCrop& crop) const {
    if (crop.width == crop.height) return "image.center_crop(" + text(crop.width) + ")";
    return "image.center_crop(" + text(crop.height) + ", " + text(crop.width) + ")";
  }
  std::string operator()(const step::RandomFlip& flip) const {
    return "image.random_flip(" + text(flip.probability) + ")";
  }
  std::string operator()(const step::Normalize& normalize) const {
    return "image.normalize(" + text(normalize.mean) + ", " + text(normalize.stddev) + ")";
  }
  std::string operator()(const step::Cast& cast) const { return "cast(" + std::string(name(cast.dtype)) + ")"; }
  std::string operator()(const step::ChannelsLast&) const { return "image.channels_last()"; }
  std::string operator()(const step::Label&) const { return "label()"; }
  std::string operator()(const step::Raw&) const { return "raw()"; }
  std::string operator()(const step::Window& window) const { return "array.random_window(" + text(window.rows) + ")"; }
  std::string operator()(const step::Boxes&) const { return "boxes()"; }
  std::string operator()(const step::Points&) const { return "key_points()"; }
  std::string operator()(const step::CloudDecode& decode) const {
    std::string arguments;
    for (const std::string& name : decode.attributes) arguments += (arguments.empty() ? "[" : ", ") + quoted(name);
    if (!arguments.empty()) arguments += "]";
    if (decode.columns != 0) arguments += (arguments.empty() ? "columns=" : ", columns=") + text(decode.columns);
    return "points.decode(" + arguments + ")";
  }
  std::string operator()(const step::Surface& surface) const { return "points.surface(" + text(surface.points) + ")"; }
  std::string operator()(const step::Sample& sample) const {
    const SampleOptions usual, &given = sample.options;
    std::string line = "points.sample(" + text(given.points);
    if (given.method != usual.method) line += ", method=" + std::string(name(given.method));
    if (given.size != usual.size) line += ", size=" + text(given.size);
    if (given.voxel != usual.voxel) line += ", voxel=" + std::string(name(given.voxel));
    if (given.slices != usual.slices) line += ", slices=" + text(given.slices);
    if (sample.blocks != 0) line += ", blocks=" + text(sample.blocks);
    if (sample.few != FewPoints::repeat) line += sample.few == FewPoints::ragged ? ", few=ragged" : ", few=raise";
    return line + ")";
  }
  std::string operator()(const step::Finite&) const { return "points.finite()"; }
  std::string operator()(const step::Center&) const { return "points.center()"; }
  std::string operator()(const step::UnitSphere&) const { return "points.unit_sphere()"; }
  std::string operator()(const step::UnitBox&) const { return "points.unit_box()"; }
  std::string operator()(const step::Scale& scale) const { return "points.scale(" + text(scale.factor) + ")"; }
  std::string operator()(const step::Rotate& rotate) const {
    return rotate.free ? "points.rotate(free)" : "points.rotate(z)";
  }
  std::string operator()(const step::Jitter& jitter) const {
    return "points.jitter(" + text(jitter.sigma) + ", " + text(jitter.clip) + ")";
  }
  std::string operator()(const step::RandomScale& scale) const {
    return "points.random_scale(" + text(scale.low) + ", " + text(scale.high) + ")";
  }
  std::string operator()(const step::Shift& shift) const { return "points.shift(" + text(shift.range) + ")"; }
  std::string operator()(const step::Dropout& dropout) const { return "points.dropout(" + text(dropout.most) + ")"; }
  std::string operator()(const step::ShufflePoints&) const { return "points.shuffle()"; }
  std::string operator()(const step::Pad& pad) const { return "points.pad(" + text(pad.points) + ")"; }
  std::string operator()(const step::ChannelsFirst&) const { return "points.channels_first()"; }
  std::string operator()(const step::Attribute& attribute) const {
    return "points.attribute(" + quoted(attribute.name) + ")";
  }
  std::string operator()(const step::Mask&) const { return "points.mask()"; }
  std::string operator()(const step::Origin&) const { return "points.origin()"; }
  std::string operator()(const step::OwnDecode& own) const {
    return own.codec == nullptr ? "decode()" : "decode(" + versioned(*own.codec) + ")";
  }
  std::string operator()(const step::OwnTransform& own) const {
    return own.transform == nullptr ? "transform()" : "transform(" + versioned(*own.transform) + ")";
  }

 private:
  template <typename Part>
  static std::string versioned(const Part& part) {
    return std::string(part.name()) + " " + text(part.version());
  }
};

}  // namespace

std::string to_string(const Step& step) {
  return std::visit(StepText{}, step);
}

std::string to_string(const Chain& chain) {
  std::string line;
  const auto add = [&line](const std::string& part) { line += (line.empty() ? "" : " | ") + part; };
  if (!chain.sources.empty()) {
    std::string names;
    for (const std::string& source : chain.sources) names += (names.empty() ? "" : "|") + source;
    add("field(" + names + ")");
  }
  if (chain.followed) add("follow(" + *chain.followed + ")");
  for (const Step& step : chain.steps) add(to_string(step));
  return line;
}

}  // namespace penstock
