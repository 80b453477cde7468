// Uses the stage of docs/extending.md: it is started and ended with its loader, timed, named, and what it makes the
// consumer wait for is its own, on the host and before copies to a device.
// Argument: a folder to write into.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>

#include <device/host/host_device.hpp>
#include <penstock/error.hpp>
#include <penstock/loader.hpp>

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::milliseconds kInterval{20};
constexpr int kBatches = 12;

void require(bool fits, const std::string& what) {
  if (fits) return;
  std::cerr << "stage: " << what << "\n";
  std::exit(1);
}

penstock::LoaderOptions options_on(bool device) {
  penstock::LoaderOptions options;
  options.batch_size = 2;
  options.workers = 1;
  options.transforms = {{"txt", penstock::raw()}};
  if (device) options.device_options.opened = std::make_shared<penstock::HostDevice>(0);
  return options;
}

penstock::Stats stats_of_epoch(const penstock::Dataset& dataset, bool device) {
  penstock::Loader loader(dataset, options_on(device));
  std::uint64_t number = 0;
  while (const auto batch = loader.next()) require(batch->number() == number++, "a batch out of order");
  require(number == kBatches, "batches are missing");
  const penstock::Batch again = loader.at(0, 3);
  again.synchronize();
  require(again.keys()[0] == "t06", "at() gives another batch");
  return loader.stats();
}

/// What speaks against it; on a loaded machine other stages may take their time too.
std::string against(const penstock::Stats& stats) {
  std::chrono::nanoseconds busy{}, pace{}, all{};
  for (const penstock::StageStats& stage : stats.stages) busy = stage.name == "pace" ? stage.busy : busy;
  for (const auto& [stage, time] : stats.data_wait_by_stage) {
    all += time;
    if (stage == "pace") pace = time;
  }
  if (busy < (kBatches - 1) * kInterval * 9 / 10) return "its row in the table lacks its time";
  if (pace < stats.data_wait * 8 / 10) return "the consumer waited for another stage";
  if (all != stats.data_wait) return "waits do not add up";
  std::ostringstream table;
  table << stats;
  const std::string text = table.str();
  const std::size_t waits = text.find("\ndata wait ");  // for several stages on a loaded machine
  const bool said = text.find("\npace ") != std::string::npos &&
                    text.find(" pace ", std::min(waits, text.size())) != std::string::npos;
  return said ? "" : "the table does not name it";
}

void check_attribution(const penstock::Dataset& dataset, bool device) {
  std::string last = "not tried";
  for (int attempt = 0; attempt < 6 && !last.empty(); ++attempt) last = against(stats_of_epoch(dataset, device));
  require(last.empty(), last + (device ? " (on a device)" : ""));
}

void check_level(const penstock::Dataset& dataset) {
  penstock::LoaderOptions options = options_on(false);
  options.timeout = std::chrono::milliseconds(1);
  penstock::Loader loader(dataset, options);
  try {
    for (int batch = 0; batch < kBatches; ++batch) loader.next();
    require(false, "no wait was too long");
  } catch (const penstock::Error& error) {
    require(std::string(error.what()).find("batches done by pace") != std::string::npos, error.what());
  }
}

}  // namespace

int main(int, char** arguments) {
  const fs::path folder = fs::path(arguments[1]) / "texts";
  fs::create_directory(folder);
  for (int i = 0; i < 2 * kBatches; ++i)
    std::ofstream(folder / ((i < 10 ? "t0" : "t") + std::to_string(i) + ".txt")) << "text " << i;
  const penstock::Dataset dataset = penstock::open(folder);
  for (const bool device : {false, true}) check_attribution(dataset, device);
  check_level(dataset);
}
