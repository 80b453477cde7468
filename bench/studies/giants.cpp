// Usage: giants_bench DATASET FIELD CHAIN [THREADS] [ROUNDS]
// Fills one row from each sample of DATASET by CHAIN ("" for only the codec), in one thread and with THREADS (2) that
// share the row. Both take turns, ROUNDS (5) of each. Prints medians in ms, their ratio, and whether the bytes are the
// same. The value is in the page cache, and the worker keeps its memory from row to row. "Busy" is CPU time, which
// other programs affect less: for one thread all of it; for several the caller's own work, and an equal share of the
// rest.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sched.h>
#include <time.h>

#include <loader/work/row_filler.hpp>
#include <penstock/chain.hpp>
#include <penstock/dataset.hpp>
#include <penstock/error.hpp>
#include <storage/read/read_engine.hpp>
#include <transforms/output.hpp>
#include <transforms/program/program.hpp>

namespace {

using namespace penstock;

/// Pins the thread. On a busy machine, the system would leave a thread of some milliseconds on the core where it
/// started.
void stay_on_core(unsigned number) {
  cpu_set_t core;
  CPU_ZERO(&core);
  CPU_SET(number % std::thread::hardware_concurrency(), &core);
  sched_setaffinity(0, sizeof core, &core);
}

double busy_ms() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

/// The caller and threads - 1 others, which are started for each value. Each runs on its own core.
class Threads final : public Parallel {
 public:
  explicit Threads(unsigned threads) : threads_(threads) {}
  void run(std::uint32_t pieces, const std::function<void(std::uint32_t piece)>& body) override {
    std::atomic<std::uint32_t> next{0};
    std::atomic<double> busy{0};
    const auto work = [&] {
      const double begin = busy_ms();
      for (std::uint32_t piece = next++; piece < pieces; piece = next++) body(piece);
      busy += busy_ms() - begin;
    };
    const double begin = busy_ms();
    std::vector<std::jthread> others;
    for (unsigned i = 1; i < threads_; ++i) {
      others.emplace_back([&work, i] {
        stay_on_core(i);
        work();
      });
    }
    work();
    others.clear();
    saved_ms_ += busy_ms() - begin - busy / threads_;
  }
  /// Reduction of the caller's CPU time if all threads had done equally much, since the last call.
  double saved_ms() { return std::exchange(saved_ms_, 0); }

 private:
  const unsigned threads_;
  double saved_ms_ = 0;
};

struct Filled {
  double ms, busy_ms;
  std::vector<std::vector<std::byte>> rows;  ///< by output
};

/// The state of a worker: decoders, scratch memory, an engine that reads in the calling thread. Blocks are decompressed
/// each time.
class Worker {
 public:
  Worker(const Dataset& dataset, const Program& program, Parallel* parallel)
      : program_(program),
        headers_(dataset),
        cache_(CacheKind::none, 0, dataset.size(), program),
        from_{.dataset = dataset, .program = program, .headers = headers_},
        engine_(choose_engine(dataset, {.kind = EngineKind::in_worker}, PendingRead::done).engine),
        filler_(from_, *engine_, blocks_, cache_, 0, nullptr, nullptr, parallel) {}

  void fill(std::uint64_t sample, Filled& filled) {
    RowSlots slots;
    filled.rows.resize(program_.outputs().size());
    for (std::size_t i = 0; i < filled.rows.size(); ++i) {
      const Output& output = program_.outputs()[i];
      if (!output.ragged) filled.rows[i].resize(output.row_bytes());
      const std::span<std::byte> place = output.ragged ? std::span<std::byte>() : std::span(filled.rows[i]);
      slots.places.push_back(place);
      slots.buffered.push_back(output.ragged ? &filled.rows[i] : nullptr);
      slots.verbatim.push_back(output.verbatim ? place : std::span<std::byte>());
    }
    const auto begin = std::chrono::steady_clock::now();
    const double busy = busy_ms();
    filler_.read_and_fill({.seed = 1, .sample = sample, .key = "giant"}, slots);
    filled.ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    filled.busy_ms = busy_ms() - busy;
  }

 private:
  const Program& program_;
  FieldHeaders headers_;
  BlockCache blocks_{0};
  SampleCache cache_;
  const FetchFrom from_;
  std::unique_ptr<ReadEngine> engine_;
  RowFiller filler_;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void measure(const Dataset& dataset, std::uint64_t sample, std::uint32_t field, const std::string& chain,
             unsigned threads, int rounds) {
  const std::vector<std::byte> bytes = read_field(dataset, sample, field);
  const FieldChain wanted{dataset.fields()[field].name, parse_chain(chain)};
  const Program program(
      std::span(&wanted, 1),
      {.fields = dataset.fields(), .first_value = [&](std::uint32_t, const Codec*) { return FirstBytes(bytes); }});
  Threads shared(threads);
  Worker alone(dataset, program, nullptr), helped(dataset, program, &shared);
  std::vector<double> one, several, busy_one, busy_several;
  Filled a{}, b{};
  for (int round = -1; round < rounds; ++round) {
    alone.fill(sample, a);
    helped.fill(sample, b);
    const double saved = shared.saved_ms();
    if (round < 0) continue;  // the first round allocates memory
    one.push_back(a.ms);
    several.push_back(b.ms);
    busy_one.push_back(a.busy_ms);
    busy_several.push_back(b.busy_ms - saved);
  }
  std::printf("| %s | %zu | %.1f | %.1f | %.2f | %.1f | %.1f | %.2f | %s |\n", std::string(dataset.key(sample)).c_str(),
              bytes.size(), median(one), median(several), median(one) / median(several), median(busy_one),
              median(busy_several), median(busy_one) / median(busy_several), a.rows == b.rows ? "same" : "DIFFER");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return std::fputs("usage: giants_bench DATASET FIELD CHAIN [THREADS] [ROUNDS]\n", stderr), 2;
  try {
    stay_on_core(0);
    const Dataset dataset = open(argv[1]);
    const unsigned threads = argc > 4 ? static_cast<unsigned>(std::atoi(argv[4])) : 2;
    const int rounds = argc > 5 ? std::atoi(argv[5]) : 5;
    std::printf("| sample | bytes | ms in 1 thread | in %u | ratio | busy in 1 | in %u | ratio | bytes |\n", threads,
                threads);
    std::puts("| --- | --: | --: | --: | --: | --: | --: | --: | --- |");
    for (std::uint32_t field = 0; field < dataset.fields().size(); ++field) {
      if (dataset.fields()[field].name != argv[2]) continue;
      for (std::uint64_t sample = 0; sample < dataset.size(); ++sample)
        measure(dataset, sample, field, argv[3], threads, rounds);
    }
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
