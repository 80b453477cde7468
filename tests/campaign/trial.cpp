#include "campaign/trial.hpp"

#include <array>
#include <chrono>
#include <fstream>
#include <new>
#include <optional>
#include <thread>

#include <sys/resource.h>

#include <formats/extent.hpp>
#include <formats/io/hash.hpp>
#include <penstock/error.hpp>
#include <penstock/pack.hpp>
#include <penstock/stage.hpp>
#include <penstock/verify.hpp>

#include "campaign/faults.hpp"
#include "campaign/loading.hpp"

namespace penstock::campaign {
namespace {

namespace fs = std::filesystem;

constexpr long kMostKib = 1 << 20;

enum class Action : std::uint8_t { load, verify, pack, stage, values };
enum class Damage : std::uint8_t { none, before, opened, meanwhile };

struct Trial {
  const Kind* kind;
  const Variant* variant;
  Action action;
  Damage damage;
  FaultPlan faults;
  fs::path data, destination;
  bool forged = false;
  bool described = true;  // penstock.json is there: without it shards are files of any program, which nothing covers
  std::string told;

  /// Whether every row that is delivered must be as it was written.
  bool promised(bool checked) const {
    return damage == Damage::none || (kind->covered && described && !forged && checked);
  }
};

Trial draw_trial(std::span<const Kind> kinds, const fs::path& scratch, Draws& draws) {
  Trial trial{};
  trial.kind = &kinds[below(draws, kinds.size())];
  trial.variant = &trial.kind->variants[below(draws, trial.kind->variants.size())];
  static constexpr std::array kActions{Action::load, Action::load,  Action::load,  Action::load,
                                       Action::load, Action::load,  Action::load,  Action::verify,
                                       Action::pack, Action::stage, Action::values};
  trial.action = kActions.at(below(draws, kActions.size()));
  static constexpr std::array kDamages{Damage::none,   Damage::before, Damage::before,
                                       Damage::before, Damage::opened, Damage::meanwhile};
  trial.damage = kDamages.at(below(draws, kDamages.size()));
  trial.faults = draw_faults(draws, trial.action == Action::load || trial.action == Action::values);
  trial.data = scratch / "trial";
  trial.destination = scratch / "out" / "made";
  static constexpr std::array<const char*, 5> kNames{"load", "verify", "pack", "stage", "values"};
  trial.told = std::string(kNames.at(static_cast<std::size_t>(trial.action))) + " " + trial.kind->name + " " +
               trial.variant->name + to_string(trial.faults);
  return trial;
}

// Changes the files of the trial, now or while something else goes on.
class Damaging {
 public:
  Damaging(Trial& trial, std::uint64_t seed) : trial_(trial), draws_(seed) {}
  void at(Damage moment, Ledger& ledger) {
    if (trial_.damage != moment) return;
    const Spared spared;
    for (std::uint64_t i = 0, count = one_in(draws_, 4) ? 3 : 1; i < count; ++i)
      trial_.told += "; " + mutate(trial_.data, draws_, trial_.forged);
    trial_.described = fs::exists(trial_.data / trial_.kind->opens / "penstock.json");
    ledger.tell(trial_.told);
  }

 private:
  Trial& trial_;
  Draws draws_;
};

std::optional<std::string> load(Trial& trial, Draws& draws, Damaging& damaging, Ledger& ledger) {
  const Dataset dataset = open(trial.data / trial.kind->opens);
  damaging.at(Damage::opened, ledger);
  LoaderOptions options = draw_options(dataset, *trial.variant, draws);
  const bool subset = options.subset.has_value();
  const bool complete = options.last_batch == Last::keep && options.world_size == 1 && !subset;
  const Life life = draw_life(draws);
  trial.told += "; " + to_string(options);
  ledger.tell(trial.told);
  const OnError policy = options.on_error;
  const Checksums checksums =
      options.device_options.gpu_direct ? Checksums::off : options.checksums;  // a device's reads are unchecked
  arm_memory(trial.faults);
  Loader loader(dataset, std::move(options));
  damaging.at(Damage::meanwhile, ledger);
  std::uint64_t delivered = 0;
  const bool checked =
      checksums == Checksums::always || (checksums == Checksums::first && trial.damage == Damage::before);
  const Rows* expected = trial.promised(checked) ? &trial.variant->expected : nullptr;
  if (auto wrong = live(loader, life, expected, delivered)) return wrong;
  if (trial.damage != Damage::none || life.batches != ~std::uint64_t{0} || life.restores || !complete)
    return std::nullopt;
  const Stats stats = loader.stats();
  if (any(trial.faults) || stats.bad_samples != 0 || policy == OnError::replace) return std::nullopt;
  if (delivered == trial.variant->expected.size()) return std::nullopt;
  return std::to_string(delivered) + " rows in place of " + std::to_string(trial.variant->expected.size());
}

std::optional<std::string> verify_it(Trial& trial, Damaging& damaging, Ledger& ledger) {
  const Dataset dataset = open(trial.data / trial.kind->opens);
  damaging.at(Damage::opened, ledger);
  const VerifyResult result = verify(dataset, {.workers = 2});
  if (trial.damage == Damage::none && !any(trial.faults) && result.bad_count != 0)
    return "verify finds fault with what is right: " + result.bad.front().cause;
  if (result.bad_count != 0) throw Error::corrupt(result.bad.front().cause);
  // `opened`: the files were changed behind an index that was whole when it was read.
  if (trial.promised(true) && trial.damage != Damage::meanwhile) {
    const Faults off({});
    return compare_all(open(trial.data / trial.kind->opens), *trial.variant);
  }
  return std::nullopt;
}

// What `make` makes at the destination is whole, or absent.
std::optional<std::string> make_it(Trial& trial, const std::function<void(const Dataset&, bool resume)>& make,
                                   Damaging& damaging, Ledger& ledger) {
  bool made = false;
  try {
    const Dataset source = open(trial.data / trial.kind->opens);
    damaging.at(Damage::opened, ledger);
    make(source, false);
    made = true;
  } catch (...) {
    if (fs::exists(trial.destination) && trial.faults.sync == 0 && trial.faults.rename == 0)
      return "it failed, but something stands at the destination";
    if (trial.damage != Damage::none) throw;
  }
  if (!made) {  // nothing is damaged: without failures of the system it goes on
    const Faults off({});
    make(open(trial.data / trial.kind->opens), true);
  }
  const Faults off({});
  if (!trial.promised(true)) return std::nullopt;
  return compare_all(open(trial.destination), *trial.variant);
}

std::optional<std::string> pack(Trial& trial, Draws& draws, Damaging& damaging, Ledger& ledger) {
  static constexpr std::array<const char*, 6> kFormats{"tar", "lmdb", "hdf5", "zip", "tfrecord", "mds"};
  ConvertOptions options;
  options.format = kFormats.at(below(draws, kFormats.size()));
  options.shard_size = std::uint64_t{1} << (13 + below(draws, 6));
  options.workers = static_cast<unsigned>(1 + below(draws, 2));
  const auto make = [&](const Dataset& source, bool resume) {
    options.resume = resume;
    options.overwrite = resume;
    convert(source, trial.destination, options);
  };
  // HDF5 stores arrays of one shape as rows, without the header of their files.
  if (options.format == "hdf5" && trial.kind->name.ends_with("arrays")) trial.variant = &trial.kind->variants.front();
  trial.told += "; as " + options.format;
  return make_it(trial, make, damaging, ledger);
}

std::optional<std::string> stage_it(Trial& trial, Damaging& damaging, Ledger& ledger) {
  const auto make = [&](const Dataset& source, bool resume) {
    stage(source, trial.destination, {.workers = 2, .overwrite = resume});
  };
  try {
    const Dataset source = open(trial.data / trial.kind->opens);
    damaging.at(Damage::opened, ledger);
    make(source, false);
  } catch (...) {
    if (trial.damage != Damage::none) throw;
    const Faults off({});
    make(open(trial.data / trial.kind->opens), true);
  }
  const Faults off({});
  if (!trial.promised(true)) return std::nullopt;
  return compare_all(open(trial.destination), *trial.variant);
}

std::optional<std::string> read_values(Trial& trial, Damaging& damaging, Ledger& ledger) {
  const Dataset dataset = open(trial.data / trial.kind->opens);
  damaging.at(Damage::opened, ledger);
  arm_memory(trial.faults);
  for (std::uint64_t sample = 0; sample < dataset.size(); ++sample) {
    for (std::uint32_t field = 0; field < dataset.fields().size(); ++field) {
      std::vector<Piece> pieces;
      if (!dataset.locate(sample, field, pieces)) continue;
      const auto bytes = read_field(dataset, sample, field);
      if (bytes.size() != dataset.length(sample, field)) return "a value of another length than its index says";
      static_cast<void>(dataset.header(sample, field));
    }
    if (!trial.forged && dataset.find(dataset.key(sample)) == std::nullopt) return "a key that is not found";
  }
  return std::nullopt;
}

std::optional<std::string> act(Trial& trial, Draws& draws, Damaging& damaging, Ledger& ledger) {
  switch (trial.action) {
    case Action::load:
      return load(trial, draws, damaging, ledger);
    case Action::verify:
      return verify_it(trial, damaging, ledger);
    case Action::pack:
      return pack(trial, draws, damaging, ledger);
    case Action::stage:
      return stage_it(trial, damaging, ledger);
    case Action::values:
      break;
  }
  return read_values(trial, damaging, ledger);
}

std::size_t open_descriptors() {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

// TBB's own threads stay; ours have names.
std::string threads_left() {
  std::string names;
  for (int i = 0; i < 200; ++i) {
    names.clear();
    for (const auto& task : fs::directory_iterator("/proc/self/task")) {
      std::string text;
      std::getline(std::ifstream(task.path() / "comm"), text);
      if (text.starts_with("penstock") || text.starts_with("parallel") || text.starts_with("gds")) names += " " + text;
    }
    if (names.empty()) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // the system's list is a little late
  }
  return names;
}

Verdict left_behind(Verdict verdict, std::size_t descriptors) {
  if (verdict.outcome == Outcome::wrong) return verdict;
  if (const std::string names = threads_left(); !names.empty()) return {Outcome::wrong, "threads left behind:" + names};
  static bool warm = false;  // the first trial of a process opens what stays open
  if (std::exchange(warm, true) && open_descriptors() > descriptors) return {Outcome::wrong, "descriptors left behind"};
  struct rusage used {};
  ::getrusage(RUSAGE_SELF, &used);
  if (used.ru_maxrss > kMostKib) return {Outcome::wrong, std::to_string(used.ru_maxrss >> 10) + " MiB of memory taken"};
  return verdict;
}

Verdict judge(Trial& trial, Draws& draws, Damaging& damaging, Ledger& ledger) {
  try {
    const Faults faults(trial.faults);
    if (auto wrong = act(trial, draws, damaging, ledger)) return {Outcome::wrong, *wrong};
    return {};
  } catch (const Error& error) {
    const std::string text = error.what();
    if (text.find('\n') != std::string::npos) return {Outcome::wrong, "an error of several lines: " + text};
    if (error.cause().empty()) return {Outcome::wrong, "an error without a cause: " + text};
    if (trial.damage == Damage::none && !any(trial.faults)) return {Outcome::wrong, "nothing was wrong, yet: " + text};
    return {Outcome::refused, text};
  } catch (const std::bad_alloc&) {
    if (trial.faults.allocation != 0) return {Outcome::refused, "out of memory"};
    return {Outcome::wrong, "out of memory"};
  } catch (const std::exception& error) {
    return {Outcome::wrong, std::string("not an Error: ") + error.what()};
  }
}

}  // namespace

Verdict run_trial(std::uint64_t seed, std::uint64_t number, std::span<const Kind> kinds, const fs::path& scratch,
                  Ledger& ledger) {
  Draws draws(mix64(seed * 0x9E3779B97F4A7C15 + number));
  Trial trial = draw_trial(kinds, scratch, draws);
  fs::remove_all(trial.data);
  fs::remove_all(trial.destination.parent_path());
  fs::create_directories(trial.destination.parent_path());
  fs::copy(trial.kind->folder, trial.data, fs::copy_options::recursive);
  ledger.tell(trial.told);
  Damaging damaging(trial, mix64(number ^ seed));
  damaging.at(Damage::before, ledger);
  const std::size_t descriptors = open_descriptors();
  const Verdict judged = judge(trial, draws, damaging, ledger);
  Verdict verdict = left_behind(judged, descriptors);
  if (verdict.outcome == Outcome::wrong) verdict.text += " [" + trial.told + "]";
  return verdict;
}

}  // namespace penstock::campaign
