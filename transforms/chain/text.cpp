#include <array>
#include <charconv>

#include <penstock/transforms/chain/chain.hpp>
#include <penstock/transforms/chain/step_tables.hpp>
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

std::string range_text(const Range& range) {
  return pair_text(range.low, range.high);
}

std::string padding_text(const Padding& padding) {
  return "(" + text(padding.left) + ", " + text(padding.top) + ", " + text(padding.right) + ", " +
         text(padding.bottom) + ")";
}

// ", KEYWORD=NAME", or nothing where it is what is usual.
template <typename Named>
std::string unless(const char* keyword, Named given, Named usual) {
  return given == usual ? "" : std::string(", ") + keyword + "=" + std::string(name(given));
}

std::string unless_black(const Fill& fill) {
  if (fill == Fill{0}) return {};
  std::string list;
  for (const std::int64_t value : fill) list += (list.empty() ? ", fill=(" : ", ") + text(value);
  return list.empty() ? ", fill=()" : list + ")";
}

std::string unless_always(double probability) {
  return probability == 1 ? "" : ", probability=" + text(probability);
}

// Names of attributes come from files: those that are no plain words stand in quotes.
std::string quoted(const std::string& name) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  return !name.empty() && name.find_first_not_of(kPlain) == std::string::npos ? name : '"' + name + '"';
}

class StepText {
 public:
  std::string operator()(const step::Decode& decode) const {
    std::string given;
    if (decode.fast) given = "fast=True";
    if (decode.upright) given += std::string(given.empty() ? "" : ", ") + "apply_exif_orientation=True";
    return "image.decode(" + given + ")";
  }
  std::string operator()(const step::Elements&) const { return "array.decode()"; }
  std::string operator()(const step::RandomResizedCrop& crop) const {
    return "image.random_resized_crop(" + text(crop.height) + ", " + text(crop.width) +
           ", scale=" + pair_text(crop.scale_min, crop.scale_max) +
           ", ratio=" + pair_text(crop.ratio_min, crop.ratio_max) +
           unless("interpolation", crop.interpolation, Interpolation::bilinear) + ")";
  }
  template <HasTable Kind>
  std::string operator()(const Kind& step) const {
    std::string numbers;
    for_each_parameter<Kind>(
        [&](const auto& parameter) { numbers += (numbers.empty() ? "" : ", ") + text(step.*parameter.member); });
    return std::string(StepTable<Kind>::kName) + "(" + numbers + ")";
  }
  std::string operator()(const step::Resize& resize) const {
    const std::string size =
        resize.short_side != 0 ? text(resize.short_side) : text(resize.height) + ", " + text(resize.width);
    return "image.resize(" + size + unless("interpolation", resize.interpolation, Interpolation::bilinear) + ")";
  }
  std::string operator()(const step::CenterCrop& crop) const {
    if (crop.width == crop.height) return "image.center_crop(" + text(crop.width) + ")";
    return "image.center_crop(" + text(crop.height) + ", " + text(crop.width) + ")";
  }
  std::string operator()(const step::RandomCrop& crop) const {
    std::string line = "image.random_crop(" + text(crop.height) + ", " + text(crop.width);
    if (crop.padding != Padding{}) line += ", padding=" + padding_text(crop.padding);
    if (crop.pad_if_needed) line += ", pad_if_needed=true";
    return line + unless_black(crop.fill) + unless("padding_mode", crop.mode, PaddingMode::constant) + ")";
  }
  std::string operator()(const step::PadImage& pad) const {
    return "image.pad(" + padding_text(pad.padding) + unless_black(pad.fill) +
           unless("padding_mode", pad.mode, PaddingMode::constant) + ")";
  }
  std::string operator()(const step::RandomRotation& rotation) const {
    return "image.random_rotation(" + range_text(rotation.degrees) +
           unless("interpolation", rotation.interpolation, Interpolation::nearest) + unless_black(rotation.fill) + ")";
  }
  std::string operator()(const step::RandomAffine& affine) const {
    std::string line = "image.random_affine(" + range_text(affine.degrees);
    if (affine.translate_x != 0 || affine.translate_y != 0)
      line += ", translate=" + pair_text(affine.translate_x, affine.translate_y);
    if (affine.scale != Range{1, 1}) line += ", scale=" + range_text(affine.scale);
    if (affine.shear_x != Range{} || affine.shear_y != Range{}) {
      line += ", shear=(" + text(affine.shear_x.low) + ", " + text(affine.shear_x.high) + ", " +
              text(affine.shear_y.low) + ", " + text(affine.shear_y.high) + ")";
    }
    return line + unless("interpolation", affine.interpolation, Interpolation::nearest) + unless_black(affine.fill) +
           ")";
  }
  std::string operator()(const step::ColorJitter& jitter) const {
    return "image.color_jitter(brightness=" + range_text(jitter.brightness) +
           ", contrast=" + range_text(jitter.contrast) + ", saturation=" + range_text(jitter.saturation) +
           ", hue=" + range_text(jitter.hue) + unless_always(jitter.probability) + ")";
  }
  std::string operator()(const step::Grayscale& gray) const { return "image.grayscale(" + text(gray.channels) + ")"; }
  std::string operator()(const step::RandomColor& color) const {
    const bool has_amount =
        color.kind == ColorKind::posterize || color.kind == ColorKind::solarize || color.kind == ColorKind::sharpness;
    return "image.random_" + std::string(name(color.kind)) + "(" + (has_amount ? text(color.amount) + ", " : "") +
           text(color.probability) + ")";
  }
  std::string operator()(const step::GaussianBlur& blur) const {
    return "image.gaussian_blur(" + text(blur.kernel_height) + ", " + text(blur.kernel_width) +
           ", sigma=" + range_text(blur.sigma) + unless_always(blur.probability) + ")";
  }
  std::string operator()(const step::RandAugment& augment) const {
    return "image.rand_augment(" + text(augment.num_ops) + ", " + text(augment.magnitude) + ", " + text(augment.bins) +
           unless("interpolation", augment.interpolation, Interpolation::nearest) + unless_black(augment.fill) + ")";
  }
  std::string operator()(const step::TrivialAugment& augment) const {
    return "image.trivial_augment(" + text(augment.bins) +
           unless("interpolation", augment.interpolation, Interpolation::nearest) + unless_black(augment.fill) + ")";
  }
  std::string operator()(const step::RandomErasing& erasing) const {
    std::string value;
    for (const double number : erasing.value) value += (value.empty() ? "(" : ", ") + text(number);
    return "image.random_erasing(" + text(erasing.probability) + ", scale=" + range_text(erasing.scale) +
           ", ratio=" + range_text(erasing.ratio) + ", value=" + (value.empty() ? "random" : value + ")") + ")";
  }
  std::string operator()(const step::Normalize& normalize) const {
    return "image.normalize(" + text(normalize.mean) + ", " + text(normalize.stddev) + ")";
  }
  std::string operator()(const step::Cast& cast) const { return "cast(" + std::string(name(cast.dtype)) + ")"; }
  std::string operator()(const step::Label& label) const {
    return label.classes == 0 ? "label()" : "label(" + text(label.classes) + ")";
  }
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
  std::string operator()(const step::Rotate& rotate) const {
    return rotate.free ? "points.rotate(free)" : "points.rotate(z)";
  }
  std::string operator()(const step::Attribute& attribute) const {
    return "points.attribute(" + quoted(attribute.name) + ")";
  }
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
