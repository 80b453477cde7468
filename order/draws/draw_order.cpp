#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include <base/numbers/decimal.hpp>
#include <base/numbers/wide.hpp>
#include <formats/io/hash.hpp>
#include <order/draws/draw_order.hpp>
#include <order/draws/drawn_once.hpp>
#include <order/permutation/permutation_rounds.hpp>
#include <order/permutation/row.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

constexpr std::size_t kEpochsKept = 2;     // the consumer's epoch, and the one that is planned ahead
constexpr std::size_t kMostPasses = 1024;  // remembered passes
constexpr double kPartsOfWeights = 0x1p60, kPartsOfRepeat = 0x1p20, kMostRepeats = 0x1p20;
constexpr std::uint64_t kWeightedStream = 0x77656967687465, kOnceStream = 0x6f6e6365,
                        kRepeatedStream = 0x72657065617473, kBalancedStream = 0x62616c616e6365;

// Divides by one floating-point division and a correction, because the 128-bit division of the compiler is a loop.
// Below 2^50 the guess is off by at most one.
std::uint64_t quotient(Wide number, std::uint64_t by) {
  const double about = static_cast<double>(static_cast<std::uint64_t>(number >> 64)) * 0x1p64 +
                       static_cast<double>(static_cast<std::uint64_t>(number));
  const double guess = about / static_cast<double>(by);
  if (!(guess < 0x1p50)) return static_cast<std::uint64_t>(number / by);
  auto result = static_cast<std::uint64_t>(guess);
  while (Wide{result} * by > number) --result;
  while (number - Wide{result} * by >= by) ++result;
  return result;
}

std::uint64_t length_of(const Draws& draws, std::uint64_t natural) {
  const std::uint64_t length = draws.samples != 0 ? draws.samples : natural;
  if (length > kLongestOrder) throw Error::invalid_argument("an epoch would have more than 2^48 samples");
  return length;
}

}  // namespace

DrawOrder::DrawOrder(const Draws& draws, const Listed& listed) : kind_(draws.kind), entries_(listed.count) {
  if (kind_ == Draws::Kind::balanced) {
    group(draws, listed);
  } else {
    weigh(draws, listed);
  }
}

void DrawOrder::weigh(const Draws& draws, const Listed& listed) {
  const bool repeats = kind_ == Draws::Kind::repeated;
  const auto number_of = [&](std::uint64_t entry) {
    return std::bit_cast<double>((*draws.numbers)[listed.sample(entry)]);
  };
  double sum = 0;
  std::uint64_t positive = 0;
  for (std::uint64_t entry = 0; entry < listed.count; ++entry) {
    const double number = number_of(entry);
    if (!(number >= 0) || !std::isfinite(number) || (repeats && number > kMostRepeats)) {
      const std::uint64_t sample = listed.sample(entry);
      throw Error::invalid_argument(draws.about + ": sample " + std::to_string(sample) + " has " +
                                        shortest_decimal(number) + "; expected a number " +
                                        (repeats ? "from 0 to " + shortest_decimal(kMostRepeats) : "of 0 or more"),
                                    {.key = listed.key ? listed.key(sample) : ""});
    }
    sum += number;
    positive += number > 0 ? 1 : 0;
  }
  if (positive == 0)
    throw Error::invalid_argument(draws.about + ": all numbers are 0, so an epoch would have no samples");
  if (!std::isfinite(sum))
    throw Error::invalid_argument(draws.about + ": the sum of the numbers is too large for a float64");
  const double scale = repeats ? kPartsOfRepeat : kPartsOfWeights / sum;
  if (!std::isfinite(scale))
    throw Error::invalid_argument(draws.about + ": the sum of the numbers is too small for a float64");
  const auto parts_of = [&](std::uint64_t entry) -> std::uint64_t {
    const double number = number_of(entry);
    return number > 0 ? static_cast<std::uint64_t>(std::max(1.0, std::floor(number * scale + 0.5))) : 0;
  };
  parts_.emplace(listed.count, parts_of, kind_ != Draws::Kind::once);
  fingerprint_ = parts_->fingerprint();
  const auto parts_of_one = static_cast<std::uint64_t>(kPartsOfRepeat);
  const std::uint64_t all_repeats = std::max<std::uint64_t>(1, (parts_->total() + parts_of_one / 2) / parts_of_one);
  length_ = length_of(draws, repeats ? all_repeats : kind_ == Draws::Kind::once ? positive : listed.count);
  if (kind_ == Draws::Kind::once && length_ > positive)
    throw Error::invalid_argument("an epoch of " + std::to_string(length_) +
                                  " samples cannot be drawn without replacement: only " + std::to_string(positive) +
                                  " samples have a weight above 0");
}

void DrawOrder::group(const Draws& draws, const Listed& listed) {
  const auto number_of = [&](std::uint64_t entry) { return (*draws.numbers)[listed.sample(entry)]; };
  std::uint64_t classes = 0;
  for (std::uint64_t entry = 0; entry < listed.count; ++entry) classes = std::max(classes, number_of(entry) + 1);
  std::vector<std::uint64_t> counts(classes, 0);
  fingerprint_ = kFnvOffset;
  for (std::uint64_t entry = 0; entry < listed.count; ++entry) {
    const std::uint64_t number = number_of(entry);
    ++counts[number];
    fingerprint_ = mix64(fingerprint_ ^ number) + kFnvOffset;
  }
  std::vector<std::uint64_t> place(classes, 0);  // position of the next entry of each class
  std::uint64_t begin = 0;
  // Classes without samples are left out.
  for (std::uint64_t c = 0; c < classes; ++c) {
    if (counts[c] == 0) continue;
    class_begins_.push_back(place[c] = begin);
    begin += counts[c];
  }
  class_begins_.push_back(begin);
  const std::string name = "classes of " + std::to_string(listed.count) + " " + hexadecimal(fingerprint_);
  by_class_ = shared_numbers(name, listed.count, listed.count, [&](SharedNumbers& entries) {
    for (std::uint64_t entry = 0; entry < listed.count; ++entry) entries.set(place[number_of(entry)]++, entry);
  });
  length_ = length_of(draws, listed.count);
}

SavedDraws DrawOrder::saved() const {
  return {.kind = kind_, .numbers = fingerprint_};
}

std::shared_ptr<const SharedNumbers> DrawOrder::once(std::uint64_t seed, std::uint64_t epoch) const {
  const std::scoped_lock lock(mutex_);
  for (const Kept& kept : kept_)
    if (kept.seed == seed && kept.epoch == epoch) return kept.order;
  if (kept_.size() == kEpochsKept) kept_.erase(kept_.begin());
  const std::string name = "once of " + hexadecimal(fingerprint_) + " " + std::to_string(entries_) + " " +
                           std::to_string(length_) + " " + std::to_string(seed) + " " + std::to_string(epoch);
  kept_.push_back({seed, epoch, shared_numbers(name, length_, entries_, [&](SharedNumbers& order) {
                     draw_once(*parts_, order_key(seed, epoch, kOnceStream), order);
                   })});
  return kept_.back().order;
}

DrawEpoch::DrawEpoch(std::shared_ptr<const DrawOrder> order, const SampleOrderOptions& within, std::uint64_t epoch)
    : order_(std::move(order)), within_(within), epoch_(epoch) {
  switch (order_->kind()) {
    case Draws::Kind::weighted:
      key_ = order_key(within.seed, epoch, kWeightedStream);
      break;
    case Draws::Kind::once:
      break;
    case Draws::Kind::repeated: {
      within_.samples = order_->length();
      repeats_.emplace(within_, epoch);
      const Wide total = order_->parts_->total();
      // The offsets are steps of the golden ratio. They fill the range evenly over the epochs, so each entry gets its
      // share. With independent offsets, many samples with half a repeat were not seen for six epochs and more.
      const std::uint64_t drawn = order_key(within.seed, 0, kRepeatedStream) + epoch * kGolden;
      offset_ = static_cast<std::uint64_t>(drawn * total >> 64);
      break;
    }
    case Draws::Kind::balanced: {
      key_ = order_key(within.seed, 0, kBalancedStream);
      const Wide before = Wide{epoch_} * order_->length();
      const std::uint64_t classes = order_->class_begins_.size() - 1;
      first_round_ = static_cast<std::uint64_t>(before / classes);
      begun_ = static_cast<std::uint64_t>(before % classes);
      if (classes <= kMostPasses) passes_.resize(classes);
      break;
    }
  }
}

DrawnRow DrawEpoch::row_at(std::uint64_t position) {
  switch (order_->kind()) {
    case Draws::Kind::weighted:
      return weighted(position);
    case Draws::Kind::once:
      if (once_ == nullptr)
        // Not in the constructor: a plan that only counts batches needs no order.
        once_ = order_->once(within_.seed, epoch_);
      return {(*once_)[position], 0};
    case Draws::Kind::repeated:
      return repeated(repeats_->sample_at(position));
    case Draws::Kind::balanced:
      break;
  }
  return balanced(position);
}

void DrawEpoch::list(std::uint64_t first, std::span<DrawnRow> out) {
  if (order_->kind() != Draws::Kind::repeated) {
    for (DrawnRow& row : out) row = row_at(first++);
    return;
  }
  std::array<std::uint64_t, 64> places;
  for (std::size_t done = 0; done < out.size(); done += places.size()) {
    const std::size_t count = std::min(places.size(), out.size() - done);
    repeats_->list(first + done, std::span(places).first(count));
    for (std::size_t i = 0; i < count; ++i) out[done + i] = repeated(places[i]);
  }
}

DrawnRow DrawEpoch::weighted(std::uint64_t position) const {
  const Wide draw = mix(key_ + position * kGolden);
  const auto part = static_cast<std::uint64_t>(draw * order_->parts_->total() >> 64);
  return {order_->parts_->entry_of(part), static_cast<std::uint32_t>(position)};
}

// Entry e has the places from due(e) to due(e + 1) - 1, where due(e) = (begin(e) * length + offset) / total, rounded
// down. This is as many as its repeats, or one more or less if they are not a whole number.
//
// The entry of a place follows by inversion: due(e) <= place means begin(e) * length + offset < (place + 1) * total, or
// begin(e) <= ((place + 1) * total - offset - 1) / length. The last such entry contains that part.
DrawnRow DrawEpoch::repeated(std::uint64_t place) const {
  const PartTable& parts = *order_->parts_;
  const std::uint64_t total = parts.total(), length = order_->length();
  const std::uint64_t entry = parts.entry_of(quotient((place + Wide{1}) * total - offset_ - 1, length));
  const std::uint64_t due = quotient(Wide{parts.begin(entry)} * length + offset_, total);
  return {entry, static_cast<std::uint32_t>(place - due)};
}

void DrawEpoch::go_to_round(std::uint64_t round) {
  if (round == round_) return;
  const std::size_t classes = order_->class_begins_.size() - 1;
  classes_.resize(classes);
  for (std::uint32_t c = 0; c < classes; ++c) classes_[c] = c;
  round_ = round;
  if (!within_.shuffle) return;
  const std::uint64_t key = mix(key_ + (round + 1) * kGolden);
  for (std::size_t last = classes - 1; last > 0; --last) {
    const std::uint64_t draw = mix(key + last * kGolden) >> 32;
    std::swap(classes_[last], classes_[draw * (last + 1) >> 32]);
  }
}

// Rounds continue over epochs, so that none is cut short and no class loses a turn.
DrawnRow DrawEpoch::balanced(std::uint64_t position) {
  const std::vector<std::uint64_t>& begins = order_->class_begins_;
  const std::uint64_t classes = begins.size() - 1;
  const std::uint64_t round = first_round_ + (begun_ + position) / classes;
  go_to_round(round);
  const std::uint32_t chosen = classes_[(begun_ + position) % classes];
  const std::uint64_t count = begins[chosen + 1] - begins[chosen];
  const std::uint64_t pass = round / count, first = first_round_ / count;
  SampleOrderOptions within = within_;
  within.samples = count;
  within.seed = mix(within_.seed + kBalancedStream + chosen);
  std::uint64_t member = 0;
  if (passes_.empty()) {
    member = SampleOrder(within, pass).sample_at(round % count);
  } else {
    std::optional<Pass>& known = passes_[chosen];
    const bool goes_on = known && known->number == pass;
    if (!goes_on) known.emplace(Pass{pass, SampleOrderAhead(within, pass)});
    member = known->order.sample_at(round % count, goes_on ? SampleOrderAhead::kMostAhead : 1);
  }
  return {(*order_->by_class_)[begins[chosen] + member], static_cast<std::uint32_t>(pass - first)};
}

}  // namespace penstock
