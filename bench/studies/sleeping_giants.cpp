// Usage: sleeping_giants FOLDER [WORKERS] [ROUNDS]
// Measures how much of its workers a loader uses if one sample in a hundred takes 200 ms and the others 5 ms. The
// result is samples per second as a share of the best possible with WORKERS (16) threads. Decoding sleeps, so a few
// cores suffice for many workers. A very large sample sleeps in 40 pieces, which idle workers may take over if the
// loader lets them. Batches of 32, prefetch 2; ROUNDS (5) epochs of 1,600 files, which are made in FOLDER. Prints the
// median and the quartiles.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <penstock/error.hpp>
#include <penstock/loader.hpp>
#include <penstock/steps.hpp>
#include <transforms/pieces.hpp>

namespace {

using namespace penstock;

constexpr std::uint32_t kSamples = 1'600, kGiantEvery = 100, kPieces = 40;
constexpr std::chrono::milliseconds kNap{5};

class SleepingDecoder final : public Decoder {
 public:
  void share(Parallel* parallel) override { parallel_ = parallel; }
  Layout peek(const FieldBytes&) override { return {.dtype = DType::u8, .shape = {1}}; }
  void decode(const FieldBytes& field, const Region*, TensorView out) override {
    const bool giant = field.bytes[0] == std::byte{'G'};
    run_pieces(giant ? parallel_ : nullptr, giant ? kPieces : 1,
               [](std::uint32_t) { std::this_thread::sleep_for(kNap); });
    *out.data = field.bytes[0];
  }

 private:
  Parallel* parallel_ = nullptr;
};

class SleepingCodec final : public Codec {
 public:
  std::string_view name() const override { return "nap"; }
  bool recognises(std::span<const std::byte>) const override { return false; }
  std::unique_ptr<Decoder> decoder(const FieldSchema&, const DecodeOptions&) const override {
    return std::make_unique<SleepingDecoder>();
  }
};

void make(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder / "all");
  for (std::uint32_t i = 0; i < kSamples; ++i) {
    const std::string name = std::to_string(100'000 + i) + ".nap";
    std::ofstream(folder / "all" / name) << (i % kGiantEvery == 0 ? 'G' : 's');
  }
}

double seconds_of_epoch(Loader& loader) {
  const auto begin = std::chrono::steady_clock::now();
  for (const Batch& batch : loader) static_cast<void>(batch);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fputs("usage: sleeping_giants FOLDER [WORKERS] [ROUNDS]\n", stderr), 2;
  const unsigned workers = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 16;
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 5;
  try {
    make(argv[1]);
    Loader loader(open(argv[1]), {.batch_size = 32,
                                  .shuffle = true,
                                  .seed = 1,
                                  .workers = workers,
                                  .prefetch = 2,
                                  .transforms = {{"nap", decode(std::make_shared<SleepingCodec>())}}});
    const double mean_s = std::chrono::duration<double>(kNap).count() * (kGiantEvery - 1 + kPieces) / kGiantEvery;
    const double ideal_s = kSamples * mean_s / workers;
    std::vector<double> shares;
    for (int round = 0; round < rounds; ++round) shares.push_back(100 * ideal_s / seconds_of_epoch(loader));
    std::ranges::sort(shares);
    const auto last = static_cast<double>(shares.size() - 1);
    const auto quantile = [&](double part) { return shares[static_cast<std::size_t>(part * last + 0.5)]; };
    std::printf("%u workers: %.0f %% of the ideal (%.0f-%.0f)\n", workers, quantile(0.5), quantile(0.25),
                quantile(0.75));
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
