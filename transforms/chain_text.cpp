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
