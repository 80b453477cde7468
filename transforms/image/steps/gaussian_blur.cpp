#include <penstock/image.hpp>
#include <transforms/image/steps/pixel_step.hpp>

namespace penstock {

const StepTable& step::GaussianBlur::table() {
  static const PixelTable<GaussianBlur> table{
      "image.gaussian_blur", "Blurs with a Gaussian kernel, mirrored at the edges, like torchvision's GaussianBlur.",
      Parameter{"kernel_size", &GaussianBlur::kernel_size, required({.least = 1, .most = 1023, .unit = "pixels"}),
                "odd number, or (height, width)"},
      Parameter{"sigma",
                &GaussianBlur::sigma,
                {.shown = Shown::by_keyword, .least = 1e-3, .most = 1e6, .unit = "pixels"},
                "standard deviation: a number, or (low, high) to draw it from"},
      Parameter{"probability", &GaussianBlur::probability, option(kProbability), "probability of blurring an image"}};
  return table;
}

void step::GaussianBlur::check() const {
  for (const std::int64_t side : {kernel_size.width, kernel_size.height}) {
    if (side < 1 || side % 2 == 0 || side > 1023)
      throw Error::invalid_argument("image.gaussian_blur() needs an odd kernel_size from 1 to 1023");
  }
}

void step::GaussianBlur::draw(StepDraw& draw) const {
  if (probability < 1 && !draw.happens(probability, "blurred")) return;
  const double deviation = draw.random.uniform(sigma.low, sigma.high);
  draw.tell([&] { return "drew sigma " + short_text(deviation); });
  draw.placement.color({ColorKind::blur, deviation, static_cast<std::int32_t>(kernel_size.width),
                        static_cast<std::int32_t>(kernel_size.height)});
}

Chain image::gaussian_blur(std::int64_t kernel_size, Range sigma, double probability) {
  return gaussian_blur(kernel_size, kernel_size, sigma, probability);
}

}  // namespace penstock
