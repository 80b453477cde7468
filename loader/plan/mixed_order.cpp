#include <algorithm>
#include <utility>

#include <penstock/base/error.hpp>
#include <penstock/formats/io/hash.hpp>
#include <penstock/loader/plan/mixed_order.hpp>

namespace penstock {
namespace {

constexpr std::uint64_t kLongestEpoch = std::uint64_t{1} << 48;
__extension__ using Total = unsigned __int128;

std::vector<std::uint64_t> weights_of(const std::vector<MixedSource>& sources) {
  std::vector<std::uint64_t> weights;
  for (const MixedSource& source : sources) weights.push_back(source.weight);
  return weights;
}

// With first_exhausted the longest epoch that needs no sample twice; with all_exhausted the shortest that has each.
std::uint64_t length_of(const ShareTree& tree, const std::vector<MixedSource>& sources, const MixtureOptions& options) {
  if (options.stop == Stop::samples) return options.samples;
  const auto over = [&](std::uint64_t length) {
    const std::vector<std::uint64_t> counts = tree.counts_of(length);
    const auto passed = [&](std::uint64_t need) {
      return [&, need](std::size_t s) { return sources[s].weight == 0 || counts[s] >= sources[s].samples + need; };
    };
    bool any = false, all = true;
    for (std::size_t s = 0; s < sources.size(); ++s) {
      if (sources[s].weight == 0) continue;
      any = any || passed(1)(s);
      all = all && passed(0)(s);
    }
    return options.stop == Stop::first_exhausted ? any : all;
  };
  std::uint64_t below = 0, above = kLongestEpoch + 1;  // over() is false of the one, taken to be true of the other
  while (above - below > 1) {
    const std::uint64_t middle = below + (above - below) / 2;
    (over(middle) ? above : below) = middle;
  }
  return options.stop == Stop::first_exhausted ? below : above;
}

}  // namespace

MixedOrder::MixedOrder(std::vector<MixedSource> mixed, const MixtureOptions& options)
    : sources(std::move(mixed)),
      sampling(options.sampling),
      carry(options.carry),
      tree(weights_of(sources)),
      length(length_of(tree, sources, options)),
      counts(tree.counts_of(length)) {
  if (length > kLongestEpoch)
    throw Error::invalid_argument(
        "the weights are so uneven that an epoch in which all sources are exhausted would have more than 2^48 samples");
  if (length == 0) throw Error::invalid_argument("an epoch of this mixture would have no samples");
}

std::uint32_t MixedOrder::source_of(std::uint64_t sample) const {
  const auto behind = std::ranges::upper_bound(sources, sample, {}, &MixedSource::first);
  return static_cast<std::uint32_t>(behind - sources.begin()) - 1;
}

MixedEpoch::MixedEpoch(const Options& options)
    : options_(options),
      order_(*options_.order),
      shares_(order_.sampling == Sampling::shares
                  ? std::variant<Shares, DrawnShares>(
                        Shares(order_.tree, order_.length, options.within.seed, options.epoch))
                  : DrawnShares(order_.tree, order_.length, options.within.seed, options.epoch)),
      deal_(options.start, options.batch_size, options.rank, options.world) {
  const std::uint64_t since = options_.carried ? options_.carried->epoch : 0;
  if (options_.epoch < since)
    throw Error::invalid_argument("epoch " + std::to_string(options_.epoch) + " lies before epoch " +
                                  std::to_string(since) +
                                  ", in which a mixture of other weights or sources was carried on");
  for (std::size_t s = 0; s < order_.sources.size(); ++s) {
    const Total before =
        Total{options_.carried ? options_.carried->taken[s] : 0} + Total{options_.epoch - since} * order_.counts[s];
    const std::uint64_t samples = std::max<std::uint64_t>(order_.sources[s].samples, 1);
    taken_.push_back(static_cast<std::uint64_t>(before));
    sources_.push_back({.first_pass = static_cast<std::uint64_t>(before / samples),
                        .place = static_cast<std::uint64_t>(before % samples),
                        .pass = {}});
  }
}

SharePlace MixedEpoch::place_of(std::uint64_t position) {
  if (const Shares* shares = std::get_if<Shares>(&shares_)) return shares->at(position);
  return std::get<DrawnShares>(shares_).at(position);
}

MixedRow MixedEpoch::row_at(std::uint64_t position) {
  return row_of(place_of(position), position);
}

MixedRow MixedEpoch::row_of(const SharePlace& place, std::uint64_t position) {
  const MixedSource& mixed = order_.sources[place.source];
  Source& source = sources_[place.source];
  const std::uint64_t total = source.place + place.index;
  const std::uint64_t again = total / mixed.samples;
  const std::uint64_t number = source.first_pass + again;
  if (!source.pass || source.pass->number != number) {
    SampleOrderOptions within = options_.within;
    within.samples = mixed.samples;
    within.seed = mix64(within.seed + hash64(mixed.name));
    source.pass.emplace(Pass{number, SampleOrder(within, number)});
  }
  const std::uint64_t sample = mixed.first + source.pass->order.sample_at(total % mixed.samples);
  return {position, sample, static_cast<std::uint32_t>(again)};
}

void MixedEpoch::rows_of(std::uint64_t step, std::vector<MixedRow>& rows) {
  rows.clear();
  const Shares* shares = std::get_if<Shares>(&shares_);
  if (shares == nullptr || options_.world == 1) {
    const std::uint64_t first =
        options_.start + (step * options_.world + options_.rank) * std::uint64_t{options_.batch_size};
    for (std::uint64_t i = 0; i < options_.batch_size; ++i) rows.push_back(row_at(first + i));
    return;
  }
  const auto runs = deal_.runs_of(*shares, step);
  for (std::uint32_t source = 0; source < runs.size(); ++source) {
    for (std::uint64_t i = 0; i < runs[source].count; ++i) {
      const std::uint64_t index = runs[source].first + i;
      rows.push_back(row_of({source, index}, shares->position_of(source, index)));
    }
  }
  std::ranges::sort(rows, {}, &MixedRow::position);
}

std::vector<std::uint64_t> MixedEpoch::taken_before(std::uint64_t position) {
  const Shares* shares = std::get_if<Shares>(&shares_);
  std::vector<std::uint64_t> taken =
      shares != nullptr ? shares->counts_before(position) : std::get<DrawnShares>(shares_).counts_before(position);
  for (std::size_t s = 0; s < taken.size(); ++s) taken[s] += taken_[s];
  return taken;
}

}  // namespace penstock
