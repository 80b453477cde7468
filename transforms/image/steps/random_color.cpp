#include <penstock/image.hpp>
#include <transforms/image/steps/pixel_step.hpp>

namespace penstock {
namespace {

template <typename Kind>
auto probability_of() {
  return Parameter{"probability", &Kind::probability, kProbability, "probability of changing an image"};
}

void change(StepDraw& draw, double probability, ColorKind kind, double amount = 0) {
  if (draw.happens(probability, "changed")) draw.placement.color({kind, amount});
}

}  // namespace

const StepTable& step::Grayscale::table() {
  static const PixelTable<Grayscale> table{
      "image.grayscale", "Converts to luma, like Pillow's convert(\"L\").",
      Parameter{"channels", &Grayscale::channels, kUsual, "1, or 3 equal channels"}};
  return table;
}

void step::Grayscale::check() const {
  if (channels != 1 && channels != 3) throw Error::invalid_argument("image.grayscale(): channels must be 1 or 3");
}

void step::Grayscale::draw(StepDraw& draw) const {
  draw.tell([&] { return std::string(channels == 1 ? "to 1 channel" : "to 3 equal channels"); });
  draw.placement.color({ColorKind::grayscale, static_cast<double>(channels)});
}

const StepTable& step::RandomGrayscale::table() {
  static const PixelTable<RandomGrayscale> table{
      "image.random_grayscale",
      "Makes all channels equal to the luma, like Pillow's convert(\"L\"). The number of channels stays.",
      probability_of<RandomGrayscale>()};
  return table;
}

void step::RandomGrayscale::draw(StepDraw& draw) const {
  change(draw, probability, ColorKind::grayscale, 3);
}

const StepTable& step::RandomInvert::table() {
  static const PixelTable<RandomInvert> table{"image.random_invert", "Replaces each pixel by 255 - pixel.",
                                              probability_of<RandomInvert>()};
  return table;
}

void step::RandomInvert::draw(StepDraw& draw) const {
  change(draw, probability, ColorKind::invert);
}

const StepTable& step::RandomPosterize::table() {
  static const PixelTable<RandomPosterize> table{
      "image.random_posterize", "Keeps the upper bits of each channel.",
      Parameter{"bits", &RandomPosterize::bits, required({.least = 0, .most = 8, .refusal = "needs bits from 0 to 8"}),
                "number of bits that are kept"},
      probability_of<RandomPosterize>()};
  return table;
}

void step::RandomPosterize::draw(StepDraw& draw) const {
  change(draw, probability, ColorKind::posterize, static_cast<double>(bits));
}

const StepTable& step::RandomSolarize::table() {
  static const PixelTable<RandomSolarize> table{
      "image.random_solarize", "Inverts pixels at or above the threshold.",
      Parameter{"threshold", &RandomSolarize::threshold, kRequired, "lowest value that is inverted"},
      probability_of<RandomSolarize>()};
  return table;
}

void step::RandomSolarize::draw(StepDraw& draw) const {
  change(draw, probability, ColorKind::solarize, threshold);
}

const StepTable& step::RandomSharpness::table() {
  static const PixelTable<RandomSharpness> table{
      "image.random_sharpness", "Changes the sharpness, like torchvision's RandomAdjustSharpness.",
      Parameter{"factor", &RandomSharpness::factor, required({.least = 0, .most = 1e6}),
                "0 blurs, 1 changes nothing, 2 sharpens"},
      probability_of<RandomSharpness>()};
  return table;
}

void step::RandomSharpness::draw(StepDraw& draw) const {
  change(draw, probability, ColorKind::sharpness, factor);
}

const StepTable& step::RandomAutocontrast::table() {
  static const PixelTable<RandomAutocontrast> table{"image.random_autocontrast", "Stretches each channel to 0..255.",
                                                    probability_of<RandomAutocontrast>()};
  return table;
}

void step::RandomAutocontrast::draw(StepDraw& draw) const {
  change(draw, probability, ColorKind::autocontrast);
}

const StepTable& step::RandomEqualize::table() {
  static const PixelTable<RandomEqualize> table{"image.random_equalize", "Makes each channel's histogram flat.",
                                                probability_of<RandomEqualize>()};
  return table;
}

void step::RandomEqualize::draw(StepDraw& draw) const {
  change(draw, probability, ColorKind::equalize);
}

Chain image::grayscale(std::int64_t channels) {
  return one_step(step::Grayscale{.channels = channels});
}

Chain image::random_grayscale(double probability) {
  return one_step(step::RandomGrayscale{.probability = probability});
}

Chain image::random_invert(double probability) {
  return one_step(step::RandomInvert{.probability = probability});
}

Chain image::random_posterize(std::int64_t bits, double probability) {
  return one_step(step::RandomPosterize{.bits = bits, .probability = probability});
}

Chain image::random_solarize(double threshold, double probability) {
  return one_step(step::RandomSolarize{.threshold = threshold, .probability = probability});
}

Chain image::random_sharpness(double factor, double probability) {
  return one_step(step::RandomSharpness{.factor = factor, .probability = probability});
}

Chain image::random_autocontrast(double probability) {
  return one_step(step::RandomAutocontrast{.probability = probability});
}

Chain image::random_equalize(double probability) {
  return one_step(step::RandomEqualize{.probability = probability});
}

}  // namespace penstock
