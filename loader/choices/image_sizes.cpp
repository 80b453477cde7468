#include <algorithm>
#include <vector>

#include <penstock/base/error.hpp>
#include <penstock/loader/choices/image_sizes.hpp>
#include <penstock/loader/choices/layouts.hpp>
#include <penstock/loader/choices/sample_scan.hpp>

namespace penstock {

SampleList with_sides(const Dataset& dataset, std::uint32_t field, const Sides& sides,
                      const std::function<void()>& tick) {
  static_assert(kScannedAtOnce % 64 == 0);  // bits; each thread has words of its own
  std::vector<std::uint64_t> chosen((dataset.size() + 63) / 64);
  for_each_layout(
      dataset, field,
      [&](std::uint64_t sample, const Layout& layout) {
        if (!layout.image) throw Error::unsupported("is no image, so it has no sides");
        const auto [shorter, longer] = std::minmax(layout.shape[0], layout.shape[1]);
        if (shorter >= sides.shortest && longer <= sides.longest)
          chosen[sample / 64] |= std::uint64_t{1} << (sample % 64);
      },
      tick);
  SampleListBuilder builder;
  for (std::uint64_t sample = 0; sample < dataset.size(); ++sample) {
    if ((chosen[sample / 64] >> (sample % 64) & 1) != 0) builder.add(sample);
  }
  return std::move(builder).finish();
}

}  // namespace penstock
