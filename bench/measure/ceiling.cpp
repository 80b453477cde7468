#include <algorithm>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <base/parallel_for.hpp>
#include <bench/measure/ceiling.hpp>
#include <formats/extent.hpp>
#include <order/plan.hpp>
#include <penstock/error.hpp>
#include <transforms/output.hpp>
#include <transforms/program/program.hpp>

namespace penstock {
namespace {

constexpr unsigned kStoreThreads = 64;
constexpr std::chrono::seconds kStoreTime{2};

struct StoredField {
  std::uint32_t field;
  std::vector<std::byte> bytes;
};

struct StoredSample {
  std::uint64_t number;
  std::string key;
  std::vector<StoredField> values;           // each field once, even if several outputs read it
  std::vector<std::size_t> value_of_output;  // position in `values`
};

Program compile(const Dataset& dataset, std::span<const FieldChain> chains) {
  const auto first_value = [&](std::uint32_t field, const Codec*) -> std::vector<std::byte> {
    std::vector<Piece> pieces;
    for (std::uint64_t sample = 0; sample < dataset.size(); ++sample)
      if (dataset.locate(sample, field, pieces)) return read_field(dataset, sample, field);
    return {};
  };
  return Program(chains, {.fields = dataset.fields(), .first_value = first_value});
}

std::optional<StoredSample> store(const Dataset& dataset, const Program& program, std::uint64_t number) {
  StoredSample sample{.number = number, .key = std::string(dataset.key(number)), .values = {}, .value_of_output = {}};
  std::vector<Piece> pieces;
  for (const Output& output : program.outputs()) {
    const auto source =
        std::ranges::find_if(output.sources, [&](std::uint32_t f) { return dataset.locate(number, f, pieces); });
    if (source == output.sources.end()) return {};
    auto value = std::ranges::find(sample.values, *source, &StoredField::field);
    if (value == sample.values.end())
      value = sample.values.insert(value, {*source, read_field(dataset, number, *source)});
    sample.value_of_output.push_back(static_cast<std::size_t>(value - sample.values.begin()));
  }
  return sample;
}

}  // namespace

struct Ceiling::State {
  const Dataset dataset;
  const Program program;
  const std::uint64_t seed;
  std::vector<StoredSample> samples;
  std::uint64_t stored_bytes = 0;
  std::vector<std::vector<std::byte>> slabs;
  std::vector<std::uint64_t> offsets;  // offset of each output's rows in a slab of one row; ragged outputs have none
  std::uint64_t row_bytes = 0;

  State(const Dataset& data, std::span<const FieldChain> chains, std::uint64_t random_seed)
      : dataset(data), program(compile(data, chains)), seed(random_seed) {
    for (const Output& output : program.outputs()) {
      offsets.push_back(row_bytes);
      if (!output.ragged) row_bytes += output.row_bytes();
    }
  }

  void hold(std::uint64_t budget_bytes, const std::function<bool()>& keep_going) {
    const Permutation order(dataset.size(), seed, 0);
    for (std::uint64_t i = 0; i < dataset.size() && stored_bytes < budget_bytes; ++i) {
      if (keep_going && !keep_going()) throw Error::resource("interrupted");
      if (auto sample = store(dataset, program, order(i))) add(std::move(*sample));
    }
  }
  // Reads from a store in parallel, because each request takes time. Holds the samples that arrive within kStoreTime.
  void hold_of_store(std::uint64_t budget_bytes, const std::function<bool()>& keep_going) {
    const Permutation order(dataset.size(), seed, 0);
    const auto begin = std::chrono::steady_clock::now();
    std::mutex mutex;  // guards samples and stored_bytes
    parallel_for(
        dataset.size(), kStoreThreads,
        [&](unsigned, std::uint64_t i, const std::stop_token& stop) {
          {
            const std::scoped_lock lock(mutex);
            const bool late = std::chrono::steady_clock::now() - begin > kStoreTime && !samples.empty();
            if (stop.stop_requested() || late || stored_bytes >= budget_bytes) return;
          }
          auto sample = store(dataset, program, order(i));
          const std::scoped_lock lock(mutex);
          if (sample) add(std::move(*sample));
        },
        [&] { return !keep_going || keep_going(); });
    std::ranges::sort(samples, {}, &StoredSample::number);
  }
  void add(StoredSample sample) {
    for (const StoredField& value : sample.values) stored_bytes += value.bytes.size();
    samples.push_back(std::move(sample));
  }

  ErrorContext where(const StoredSample& sample, std::uint32_t output) const {
    return {.dataset = dataset.path().string(), .key = sample.key, .field = program.outputs()[output].name};
  }

  /// Number of rows in all slabs, rounded so that each thread has equally many. Threads take turns
  /// in a fixed order, so no two threads write the same row.
  static std::uint64_t rows(const LoopOptions& options) {
    return std::max<std::uint64_t>(1, std::uint64_t{options.slabs} * options.batch_size / options.threads) *
           options.threads;
  }

  void fill_row(SlotFiller& filler, std::uint64_t turn, std::vector<std::vector<std::byte>>& ragged,
                const LoopOptions& options) {
    const StoredSample& sample = samples[turn % samples.size()];
    filler.begin({.seed = seed, .epoch = turn / samples.size(), .sample = sample.number, .key = sample.key});
    const std::uint64_t slot = turn % rows(options);
    const std::uint64_t row = slot % options.batch_size;
    std::vector<std::byte>& slab = slabs[slot / options.batch_size];
    const auto fill = [&](std::uint32_t number) {
      const Output& output = program.outputs()[number];
      const StoredField& value = sample.values[sample.value_of_output[number]];
      const FieldBytes field{.schema = &dataset.fields()[value.field], .bytes = value.bytes};
      if (output.ragged) {
        ragged[number].resize(filler.items(number, field) * output.row_bytes());
        filler.fill(number, field, ragged[number]);
      } else {
        const std::uint64_t place = options.batch_size * offsets[number] + row * output.row_bytes();
        filler.fill(number, field, std::span(slab).subspan(place, output.row_bytes()));
      }
    };
    for (const std::uint32_t number : program.order()) {
      try {
        fill(number);
      } catch (const Error& error) {
        throw error.in(where(sample, number));
      }
    }
  }
};

Ceiling::Ceiling(const Dataset& dataset, std::span<const FieldChain> chains, std::uint64_t seed,
                 std::uint64_t budget_bytes, const std::function<bool()>& keep_going)
    : state_(std::make_unique<State>(dataset, chains, seed)) {
  dataset.in_store() ? state_->hold_of_store(budget_bytes, keep_going) : state_->hold(budget_bytes, keep_going);
  if (state_->samples.empty())
    throw Error::invalid_argument("no sample has all the fields", {.dataset = dataset.path().string()});
}

Ceiling::~Ceiling() = default;

double Ceiling::run(const LoopOptions& options, std::chrono::nanoseconds duration) {
  using Clock = std::chrono::steady_clock;
  State& state = *state_;
  const std::uint64_t slabs = (State::rows(options) + options.batch_size - 1) / options.batch_size;
  state.slabs.resize(std::max<std::size_t>(state.slabs.size(), slabs));
  for (std::vector<std::byte>& slab : state.slabs)
    slab.resize(std::max<std::size_t>(slab.size(), options.batch_size * state.row_bytes));

  std::mutex mutex;  // guards the results of the threads
  double rate = 0;
  std::exception_ptr failure;
  const auto run_thread = [&](std::uint64_t thread) {
    try {
      SlotFiller filler(state.program);
      std::vector<std::vector<std::byte>> ragged(state.program.outputs().size());
      const auto begin = Clock::now();
      auto now = begin;
      std::uint64_t done = 0;
      for (; now - begin < duration; now = Clock::now(), ++done)
        state.fill_row(filler, done * options.threads + thread, ragged, options);
      const std::lock_guard lock(mutex);
      rate += static_cast<double>(done) / std::chrono::duration<double>(now - begin).count();
    } catch (...) {
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < options.threads; ++i) threads.emplace_back(run_thread, i);
  }
  if (failure) std::rethrow_exception(failure);
  return rate;
}

std::uint64_t Ceiling::held_bytes() const {
  std::uint64_t bytes = state_->stored_bytes;
  for (const std::vector<std::byte>& slab : state_->slabs) bytes += slab.size();
  return bytes;
}

}  // namespace penstock
