#include <algorithm>

#include <base/numbers/wide.hpp>
#include <formats/io/hash.hpp>
#include <order/mixture/mixed_order.hpp>
#include <order/permutation/row.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

std::vector<std::uint64_t> weights_of(const std::vector<MixedSource>& sources) {
  std::vector<std::uint64_t> weights;
  for (const MixedSource& source : sources) weights.push_back(source.weight);
  return weights;
}

// With first_exhausted, the longest epoch that needs no sample twice; with all_exhausted, the shortest that contains
// every sample.
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
  // over() is false for `below`, and assumed to be true for `above`.
  std::uint64_t below = 0, above = kLongestOrder + 1;
  while (above - below > 1) {
    const std::uint64_t middle = below + (above - below) / 2;
    (over(middle) ? above : below) = middle;
  }
  return options.stop == Stop::first_exhausted ? below : above;
}

}  // namespace

MixedOrder::MixedOrder(std::vector<MixedSource> mixed, const MixtureOptions& options,
                       const std::vector<std::pair<std::uint64_t, std::vector<std::uint64_t>>>& changes)
    : sources(std::move(mixed)), sampling(options.sampling), carry(options.carry) {
  const ShareTree tree(weights_of(sources));
  length = length_of(tree, sources, options);
  if (length > kLongestOrder)
    throw Error::invalid_argument(
        "the weights are so uneven that an epoch in which all sources are exhausted would have more than 2^48 samples");
  if (length == 0) throw Error::invalid_argument("an epoch of this mixture would have no samples");
  const std::vector<std::uint64_t> nothing(sources.size(), 0);
  phases.push_back({.begin = 0, .weight = weights_of(sources), .tree = tree, .length = length, .before = nothing});
  for (const auto& [position, weight] : changes) {
    MixedPhase& last = phases.back();
    last.length = position - last.begin;
    std::vector<std::uint64_t> before = last.tree.counts_of(last.length);
    for (std::size_t s = 0; s < before.size(); ++s) before[s] += last.before[s];
    phases.push_back({.begin = position,
                      .weight = weight,
                      .tree = ShareTree(weight),
                      .length = kLongestOrder - position,
                      .before = std::move(before)});
  }
  counts.assign(sources.size(), 0);
  for (const MixedPhase& phase : phases) {
    const std::vector<std::uint64_t> of_phase = phase.tree.counts_of(length);
    std::ranges::transform(counts, of_phase, counts.begin(), [](auto a, auto b) { return std::max(a, b); });
  }
}

std::uint64_t MixedOrder::schedule_fingerprint() const {
  if (!scheduled()) return 0;
  std::uint64_t hash = kFnvOffset;
  for (const MixedPhase& phase : phases) {
    hash = mix64(hash ^ phase.begin) + kFnvOffset;
    for (const std::uint64_t weight : phase.weight) hash = mix64(hash ^ weight) + kFnvOffset;
  }
  return hash;
}

namespace {

// The parts of an epoch. Without a schedule it is one phase, which every epoch begins again. With a schedule, these are
// the phases that overlap the epoch.
PhasedShares phased_shares(const MixedOrder& order, std::uint64_t seed, std::uint64_t epoch) {
  std::vector<PhasedShares::Part> parts;
  if (!order.scheduled()) {
    const MixedPhase& phase = order.phases.front();
    parts.push_back({.begin = 0, .origin = 0, .shares = Shares(phase.tree, phase.length, seed, epoch)});
    return PhasedShares(std::move(parts));
  }
  const std::uint64_t first = epoch * order.length, end = first + order.length;
  for (std::size_t i = 0; i < order.phases.size(); ++i) {
    const MixedPhase& phase = order.phases[i];
    if (phase.begin >= end || phase.begin + phase.length <= first) continue;
    const std::uint64_t begin = std::max(first, phase.begin);
    parts.push_back(
        {.begin = begin - first, .origin = begin - phase.begin, .shares = Shares(phase.tree, phase.length, seed, i)});
  }
  return PhasedShares(std::move(parts));
}

void require_within_schedule(const MixedOrder& order, std::uint64_t epoch) {
  if (order.scheduled() && (Wide{epoch} + 1) * order.length > kLongestOrder)
    throw Error::invalid_argument("epoch " + std::to_string(epoch) +
                                  " comes after the 2^48th sample, the last one that a schedule of weights covers");
}

std::variant<PhasedShares, DrawnShares> shares_of(const MixedOrder& order, std::uint64_t seed, std::uint64_t epoch) {
  require_within_schedule(order, epoch);
  if (order.sampling == Sampling::shares) return phased_shares(order, seed, epoch);
  return DrawnShares(order.phases.front().tree, order.length, seed, epoch);
}

// The number of samples that each source delivers before an epoch.
std::vector<Wide> given_before(const MixedOrder& order, std::uint64_t epoch, std::uint64_t seed) {
  std::vector<Wide> given;
  if (!order.scheduled()) {
    for (const std::uint64_t count : order.counts) given.push_back(Wide{epoch} * count);
    return given;
  }
  const std::uint64_t end = epoch * order.length;
  const auto behind = std::ranges::upper_bound(order.phases, end, {}, &MixedPhase::begin);
  const MixedPhase& phase = *(behind - 1);
  const auto number = static_cast<std::uint64_t>(behind - order.phases.begin()) - 1;
  const std::vector<std::uint64_t> counts =
      Shares(phase.tree, phase.length, seed, number).counts_before(end - phase.begin);
  for (std::size_t s = 0; s < counts.size(); ++s) given.push_back(Wide{phase.before[s]} + counts[s]);
  return given;
}

}  // namespace

std::uint32_t MixedOrder::source_of(std::uint64_t sample) const {
  const auto behind = std::ranges::upper_bound(sources, sample, {}, &MixedSource::first);
  return static_cast<std::uint32_t>(behind - sources.begin()) - 1;
}

MixedEpoch::MixedEpoch(const Options& options)
    : options_(options),
      order_(*options_.order),
      shares_(shares_of(order_, options.within.seed, options.epoch)),
      deal_(options.start, options.batch_size, options.rank, options.world) {
  const std::uint64_t since = options_.carried ? options_.carried->epoch : 0;
  if (options_.epoch < since)
    throw Error::invalid_argument("epoch " + std::to_string(options_.epoch) + " comes before epoch " +
                                  std::to_string(since) +
                                  ", with which a mixture of other weights or sources was resumed");
  const std::uint64_t seed = options_.within.seed;
  const std::vector<Wide> given = given_before(order_, options_.epoch, seed);
  const std::vector<Wide> until_carried = given_before(order_, since, seed);
  for (std::size_t s = 0; s < order_.sources.size(); ++s) {
    const Wide before = Wide{options_.carried ? options_.carried->taken[s] : 0} + given[s] - until_carried[s];
    const std::uint64_t samples = std::max<std::uint64_t>(order_.sources[s].samples, 1);
    taken_.push_back(static_cast<std::uint64_t>(before));
    sources_.push_back({.first_pass = static_cast<std::uint64_t>(before / samples),
                        .place = static_cast<std::uint64_t>(before % samples),
                        .pass = {},
                        .next = 0});
  }
}

SharePlace MixedEpoch::place_of(std::uint64_t position) {
  return std::visit([&](auto& shares) { return shares.at(position); }, shares_);
}

MixedRow MixedEpoch::row_at(std::uint64_t position) {
  const SharePlace place = place_of(position);
  const bool follows = std::exchange(sources_[place.source].next, place.index + 1) == place.index;
  return row_of(place, position, follows ? SampleOrderAhead::kMostAhead : 1);
}

// `expected`: the number of consecutive indices of the source, from this one on, that will be requested next.
MixedRow MixedEpoch::row_of(const SharePlace& place, std::uint64_t position, std::uint64_t expected) {
  const MixedSource& mixed = order_.sources[place.source];
  Source& source = sources_[place.source];
  const std::uint64_t total = source.place + place.index;
  const std::uint64_t again = total / mixed.samples;
  const std::uint64_t number = source.first_pass + again;
  if (!source.pass || source.pass->number != number) {
    SampleOrderOptions within = options_.within;
    within.samples = mixed.samples;
    within.seed = mix64(within.seed + hash64(mixed.name));
    source.pass.emplace(Pass{number, SampleOrderAhead(within, number)});
  }
  const std::uint64_t sample = mixed.first + source.pass->order.sample_at(total % mixed.samples, expected);
  return {position, sample, static_cast<std::uint32_t>(again)};
}

void MixedEpoch::rows_of(std::uint64_t step, std::vector<MixedRow>& rows) {
  rows.clear();
  PhasedShares* shares = std::get_if<PhasedShares>(&shares_);
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
      rows.push_back(row_of({source, index}, shares->position_of(source, index), runs[source].count - i));
    }
  }
  std::ranges::sort(rows, {}, &MixedRow::position);
}

std::vector<std::uint64_t> MixedEpoch::taken_before(std::uint64_t position) {
  std::vector<std::uint64_t> taken = std::visit([&](auto& shares) { return shares.counts_before(position); }, shares_);
  for (std::size_t s = 0; s < taken.size(); ++s) taken[s] += taken_[s];
  return taken;
}

}  // namespace penstock
