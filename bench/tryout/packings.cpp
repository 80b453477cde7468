#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <memory>
#include <set>

#include <base/cores.hpp>
#include <base/parallel_for.hpp>
#include <bench/tryout/packings.hpp>
#include <formats/encodings.hpp>
#include <loader/prepare.hpp>
#include <pack/recoding.hpp>
#include <penstock/codec.hpp>
#include <penstock/error.hpp>
#include <transforms/chain/value_of.hpp>
#include <transforms/decoders.hpp>
#include <transforms/output.hpp>
#include <transforms/program/program.hpp>
#include <transforms/recode/jpeg_recoder.hpp>

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kRandomCrop = 1.5;  // for a random crop, an image keeps this multiple of the crop's size on each side
constexpr double kKept = 0.9;        // share of the images that must keep enough pixels
constexpr double kHardly = 0.9;      // above this share of the median image's longest side, shrinking is not worthwhile
constexpr std::int64_t kMultiple = 32;

// Share of the image's size that the chain's first crop or resize needs.
std::optional<double> share_needed(const Chain& chain, const Size& image) {
  const auto share = [&](const Size& size) {
    return std::max(static_cast<double>(size.height) / static_cast<double>(image.height),
                    static_cast<double>(size.width) / static_cast<double>(image.width));
  };
  for (const Step& step : chain.steps) {
    if (const auto* crop = step.as<step::RandomResizedCrop>()) return kRandomCrop * share(crop->size);
    if (const auto* resize = step.as<step::Resize>()) {
      if (resize->size.width != kShortSide) return share(resize->size);
      return static_cast<double>(resize->size.height) / static_cast<double>(std::min(image.height, image.width));
    }
    if (!step.is<step::Decode>() && !step.is<step::RandomHorizontalFlip>() && !step.is<step::RandomVerticalFlip>())
      return {};
  }
  return {};
}

std::int64_t longest(const Size& image) {
  return std::max(image.height, image.width);
}

// Image size of each value. Removes values that are not JPEG files.
std::vector<Size> sizes_of(std::vector<HeldValue>& values) {
  Decoders decoders;
  std::vector<Size> sizes;
  std::erase_if(values, [&](const HeldValue& value) {
    try {
      const Peeked peeked = decoders.peek(value.field());
      if (!codec_traits(peeked.codec->name()).jpeg_file) return true;
      sizes.push_back({.width = peeked.layout.shape[1], .height = peeked.layout.shape[0]});
      return false;
    } catch (const Error&) {
      return true;
    }
  });
  return sizes;
}

/// Re-encoded values: the first ones, as many as time allowed.
struct Made {
  std::vector<std::vector<std::byte>> bytes;
  std::deque<FieldSchema> schemas;  // field references point to the elements of the deque, which stay in place
  std::vector<FieldBytes> fields;
};

Made made_over(const std::vector<HeldValue>& values, const Recoding& recoding, const HeldLimits& limits) {
  Made made;
  made.bytes.resize(values.size());
  const unsigned workers = usable_cores();
  std::vector<std::unique_ptr<FieldRecoder>> recoders(workers);
  for (auto& recoder : recoders) recoder = std::make_unique<FieldRecoder>(recoding);
  const auto begin = Clock::now();
  const auto make = [&](unsigned worker, std::uint64_t item, const std::stop_token&) {
    if (item > 0 && std::chrono::duration<double>(Clock::now() - begin).count() > limits.seconds) return;
    const HeldValue& value = values[item];
    try {
      const auto bytes = recoders[worker]->recode(*value.schema, value.key, value.bytes);
      made.bytes[item].assign(bytes.begin(), bytes.end());
    } catch (const Error&) {
      made.bytes[item] = value.bytes;  // stays as it is; `penstock pack` would report it
    }
  };
  parallel_for(values.size(), workers, make, [&] { return !limits.keep_going || limits.keep_going(); });
  for (std::size_t i = 0; i < values.size() && !made.bytes[i].empty(); ++i) {
    made.schemas.push_back(recoding.made(*values[i].schema));
    made.fields.push_back({.schema = &made.schemas.back(), .bytes = made.bytes[i]});
  }
  return made;
}

const Chain* chain_of(const Task& task, const Output& output) {
  const auto found = std::ranges::find(task.fields, output.name, &FieldChain::first);
  return found == task.fields.end() ? nullptr : &found->second;
}

bool nothing_follows(const Task& task) {
  return std::ranges::none_of(task.fields, [](const FieldChain& field) { return field.second.followed.has_value(); });
}

double mean_bytes(const std::vector<HeldValue>& values) {
  double sum = 0;
  for (const HeldValue& value : values) sum += static_cast<double>(value.bytes.size());
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

double bytes_beside(const std::vector<HeldValue>& values, const Made& made) {
  double before = 0, after = 0;
  for (std::size_t i = 0; i < made.fields.size(); ++i) {
    before += static_cast<double>(values[i].bytes.size());
    after += static_cast<double>(made.bytes[i].size());
  }
  return before > 0 ? after / before : 1;
}

/// Sums over the outputs for one format.
struct Sum {
  PackingTryout tryout;
  double filling = 0, bytes = 0;  // changes: sum of weight * (time ratio - 1), and bytes per sample
};

}  // namespace

std::optional<std::int64_t> smallest_side(const Chain& chain, std::span<const Size> images) {
  std::vector<std::int64_t> needed, sides;
  for (const Size& image : images) {
    if (image.height <= 0 || image.width <= 0) continue;
    const auto share = share_needed(chain, image);
    if (!share) return {};
    sides.push_back(longest(image));
    needed.push_back(static_cast<std::int64_t>(std::ceil(std::min(1.0, *share) * static_cast<double>(longest(image)))));
  }
  if (sides.empty()) return {};
  std::ranges::sort(needed);
  std::ranges::sort(sides);
  const auto place = static_cast<std::size_t>(std::ceil(kKept * static_cast<double>(needed.size()))) - 1;
  const std::int64_t side = (needed[place] + kMultiple - 1) / kMultiple * kMultiple;
  if (static_cast<double>(side) > kHardly * static_cast<double>(sides[sides.size() / 2])) return {};
  return side;
}

std::vector<PackingTryout> tried_packings(const Dataset& dataset, const Task& task,
                                          std::span<const OutputStats> outputs, std::uint64_t seed,
                                          const HeldLimits& limits) {
  LoaderOptions options;
  options.transforms = task.fields;
  const Program program = compiled(dataset, resolved(dataset, options));
  const std::vector<double> weights = weights_of(outputs);
  if (weights.size() != program.outputs().size() || dataset.size() == 0) return {};
  std::vector<Sum> sums;
  const auto sum_of = [&](const std::string& text, const JpegRecoding& jpeg) -> Sum& {
    const auto found = std::ranges::find(sums, text, [](const Sum& sum) { return sum.tryout.options; });
    if (found != sums.end()) return *found;
    return sums.emplace_back(Sum{.tryout = {.options = text, .recoding = {.jpeg = jpeg}}});
  };
  double all_bytes = 0;
  std::set<std::uint32_t> seen;  // fields whose bytes were counted
  for (std::uint32_t i = 0; i < weights.size(); ++i) {
    const Output& output = program.outputs()[i];
    const Chain* chain = chain_of(task, output);
    std::vector<HeldValue> values = held_values(dataset, output, seed, limits);
    const bool is_first = !output.sources.empty() && seen.insert(output.sources.front()).second;
    const double bytes = is_first ? mean_bytes(values) : 0;
    all_bytes += bytes;
    if (chain == nullptr || !runs_alone(program, i) || output.keep == Keep::bytes) continue;
    const std::size_t held = values.size();
    const std::vector<Size> sizes = sizes_of(values);
    if (values.empty() || values.size() * 2 < held) continue;

    std::vector<std::pair<std::string, JpegRecoding>> wanted;
    wanted.emplace_back("--jpeg recode", jpeg_recoding("recode", 0));
    const auto side = nothing_follows(task) ? smallest_side(*chain, sizes) : std::nullopt;
    if (side) {
      const std::string text = "--max-side " + std::to_string(*side);
      wanted.emplace_back(text, jpeg_recoding("keep", *side));
      wanted.emplace_back("--jpeg recode " + text, jpeg_recoding("recode", *side));
    }
    std::deque<Made> made;  // a deque, because fields point to its elements
    std::vector<std::vector<FieldBytes>> ways;
    for (const auto& [text, jpeg] : wanted) {
      made.push_back(made_over(values, {.jpeg = jpeg}, limits));
      ways.push_back(made.back().fields);
    }
    const std::vector<double> ratios = raced(program, i, seed, values, ways, limits);
    for (std::size_t way = 0; way < wanted.size(); ++way) {
      Sum& sum = sum_of(wanted[way].first, wanted[way].second);
      sum.filling += weights[i] * (ratios[way] - 1);
      sum.bytes += bytes * (bytes_beside(values, made[way]) - 1);
      sum.tryout.samples = std::max(sum.tryout.samples, ways[way].size());
    }
  }
  std::vector<PackingTryout> tried;
  for (Sum& sum : sums) {
    sum.tryout.keeping = {.filling = 1 + sum.filling, .bytes = all_bytes > 0 ? 1 + sum.bytes / all_bytes : 1};
    tried.push_back(std::move(sum.tryout));
  }
  return tried;
}

}  // namespace penstock
