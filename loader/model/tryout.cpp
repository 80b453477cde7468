#include <algorithm>
#include <chrono>
#include <deque>
#include <numeric>

#include <base/amounts.hpp>
#include <formats/extent.hpp>
#include <loader/model/tryout.hpp>
#include <order/permutation/permutation.hpp>
#include <penstock/error.hpp>
#include <transforms/decoders.hpp>

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kLengths = 64;  // samples whose mean length is used for all
// Bytes and rows of the ring that is written to.
constexpr std::uint64_t kSlab = std::uint64_t{64} << 20, kPlaces = 256;

double since(Clock::time_point begin) {
  return seconds_of(Clock::now() - begin);
}

void check(const HeldLimits& limits) {
  if (limits.keep_going && !limits.keep_going()) throw Error::resource("interrupted");
}

// Returns true if `run` succeeds, and false if it meets an invalid value.
template <typename Run>
bool is_good(Run run) {
  try {
    run();
    return true;
  } catch (const Error& error) {
    if (!error.is_data_fault()) throw;
    return false;
  }
}

// Returns the output's first field that the sample has.
std::optional<std::uint32_t> source_of(const Dataset& dataset, const Output& output, std::uint64_t sample) {
  std::vector<Piece> pieces;
  for (const std::uint32_t field : output.sources)
    if (dataset.locate(sample, field, pieces)) return field;
  return {};
}

double mean_length(const Dataset& dataset, const Output& output) {
  const std::uint64_t count = std::min(kLengths, dataset.size());
  double sum = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t sample = i * dataset.size() / count;
    if (const auto field = source_of(dataset, output, sample))
      sum += static_cast<double>(dataset.length(sample, *field));
  }
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

/// Times rows of one output. It writes them into a ring, so that the memory is as cold as that of a batch.
class RowClock {
 public:
  RowClock(const Program& program, std::uint32_t output, std::uint64_t seed)
      : filler_(program),
        output_(output),
        seed_(seed),
        row_bytes_(program.outputs()[output].step_bytes()),
        places_(std::clamp<std::uint64_t>(kSlab / std::max<std::uint64_t>(1, row_bytes_), 1, kPlaces)),
        slab_(row_bytes_ * places_) {}

  double seconds(const HeldValue& value, const FieldBytes& bytes, std::uint64_t epoch) {
    const auto place = std::span(slab_).subspan(next_++ % places_ * row_bytes_, row_bytes_);
    const auto begin = Clock::now();
    filler_.begin({.seed = seed_, .epoch = epoch, .sample = value.sample, .key = value.key});
    filler_.fill(output_, bytes, place);
    return since(begin);
  }

 private:
  SlotFiller filler_;
  const std::uint32_t output_;
  const std::uint64_t seed_, row_bytes_, places_;
  std::vector<std::byte> slab_;
  std::uint64_t next_ = 0;
};

/// Images in a cache's form: raw pixels.
struct KeptPixels {
  std::vector<std::vector<std::byte>> memory;
  std::deque<FieldSchema> schemas;  // fields point to them
  std::vector<FieldBytes> fields;
  std::uint64_t bytes = 0;

  void add(const Peeked& peeked, const HeldValue& value) {
    std::vector<std::byte>& pixels = memory.emplace_back(element_count(peeked.layout.shape));
    peeked.decoder->decode(value.field(), nullptr, {pixels.data(), DType::u8, peeked.layout.shape});
    schemas.push_back(
        {.name = value.schema->name, .codec = "raw", .dtype = DType::u8, .shape = peeked.layout.shape, .fixed = true});
    fields.push_back({.schema = &schemas.back(), .bytes = pixels});
    bytes += pixels.size();
  }
};

// Decodes the first values, as many as fit. Removes values that are not images, or invalid, from `values`.
KeptPixels decoded(const Output& output, std::vector<HeldValue>& values, const HeldLimits& limits) {
  KeptPixels kept;
  Decoders decoders({.pixels = output.pixels, .upright = output.upright});
  const auto begin = Clock::now();
  std::vector<HeldValue> good;
  for (HeldValue& value : values) {
    check(limits);
    if (kept.bytes >= limits.bytes || (since(begin) > limits.seconds && !good.empty())) break;
    const bool is_image = is_good([&] {
      const Peeked peeked = decoders.peek(value.field());
      if (!peeked.layout.image || peeked.layout.dtype != DType::u8) throw Error::unsupported("no image");
      kept.add(peeked, value);
    });
    if (is_image) good.push_back(std::move(value));
  }
  values = std::move(good);
  return kept;
}

}  // namespace

std::vector<HeldValue> held_values(const Dataset& dataset, const Output& output, std::uint64_t seed,
                                   const HeldLimits& limits) {
  std::vector<HeldValue> values;
  const Permutation order(dataset.size(), seed, 0);
  std::uint64_t bytes = 0;
  const auto begin = Clock::now();
  for (std::uint64_t i = 0; i < dataset.size() && values.size() < limits.samples && bytes < limits.bytes; ++i) {
    check(limits);
    if (!values.empty() && since(begin) > limits.seconds) break;
    const std::uint64_t sample = order(i);
    const auto field = source_of(dataset, output, sample);
    if (!field) continue;
    is_good([&] {
      values.push_back({.sample = sample,
                        .key = std::string(dataset.key(sample)),
                        .schema = &dataset.fields()[*field],
                        .bytes = read_field(dataset, sample, *field)});
      bytes += values.back().bytes.size();
    });
  }
  return values;
}

bool runs_alone(const Program& program, std::uint32_t output) {
  return !program.leader(output) && !program.outputs()[output].ragged;
}

// All forms of a value run directly after each other, so that changes of the machine's speed affect them equally.
std::vector<double> raced(const Program& program, std::uint32_t output, std::uint64_t seed,
                          const std::vector<HeldValue>& values, const std::vector<std::vector<FieldBytes>>& ways,
                          const HeldLimits& limits) {
  RowClock clock(program, output, seed);
  std::vector<double> stored(ways.size()), otherwise(ways.size());
  const auto run = [&](std::size_t number, std::uint64_t epoch, bool counts) {
    const HeldValue& value = values[number];
    const double as_stored = clock.seconds(value, value.field(), epoch);
    for (std::size_t way = 0; way < ways.size(); ++way) {
      if (number >= ways[way].size()) continue;
      const double took = clock.seconds(value, ways[way][number], epoch);
      if (counts) stored[way] += as_stored, otherwise[way] += took;
    }
  };
  const auto begin = Clock::now();
  for (std::uint64_t epoch = 0; since(begin) < limits.seconds && !values.empty(); ++epoch) {
    if (epoch == 0) is_good([&] { run(0, 0, false); });  // the first run is not timed, because its code is cold
    for (std::size_t i = 0; i < values.size() && since(begin) < limits.seconds; ++i) {
      check(limits);
      is_good([&] { run(i, epoch, true); });
    }
  }
  std::vector<double> ratios;
  for (std::size_t way = 0; way < ways.size(); ++way)
    ratios.push_back(stored[way] > 0 && otherwise[way] > 0 ? otherwise[way] / stored[way] : 1);
  return ratios;
}

std::vector<double> weights_of(std::span<const OutputStats> outputs) {
  std::vector<double> weights;
  for (const OutputStats& output : outputs) weights.push_back(seconds_of(output.decode + output.transform));
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight = sum > 0 ? weight / sum : 1 / static_cast<double>(outputs.size());
  return weights;
}

std::optional<CacheDemand> tried_pixels(const Dataset& dataset, const Program& program,
                                        std::span<const OutputStats> outputs, std::uint64_t seed,
                                        const HeldLimits& limits) {
  if (outputs.size() != program.outputs().size() || dataset.size() == 0) return {};
  const std::vector<double> weights = weights_of(outputs);
  CacheDemand cache{.bytes = 0, .filling = 0};
  bool keeps = false;
  for (std::uint32_t i = 0; i < weights.size(); ++i) {
    const Output& output = program.outputs()[i];
    if (output.keep == Keep::row && !output.verbatim && !output.ragged) {
      cache.bytes += static_cast<double>(output.row_bytes());
      keeps = true;
      continue;
    }
    double bytes = mean_length(dataset, output), filling = 1;
    if (output.keep == Keep::pixels && runs_alone(program, i)) {
      std::vector<HeldValue> values = held_values(dataset, output, seed, limits);
      const KeptPixels kept = decoded(output, values, limits);
      if (!values.empty()) {
        bytes = static_cast<double>(kept.bytes) / static_cast<double>(values.size());
        filling = raced(program, i, seed, values, {kept.fields}, limits).front();
        keeps = true;
      }
    }
    cache.bytes += bytes;
    cache.filling += weights[i] * filling;
  }
  if (!keeps) return {};
  return cache;
}

}  // namespace penstock
