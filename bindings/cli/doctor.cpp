#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <base/caught.hpp>
#include <base/machine.hpp>
#include <base/printable.hpp>
#include <bench/measure/units.hpp>
#include <device/cuda/cuda.hpp>
#include <device/cuda/cufile.hpp>
#include <device/cuda/nvjpeg.hpp>
#include <formats/format.hpp>
#include <formats/index/index_folder.hpp>
#include <formats/packed/manifest.hpp>
#include <formats/places/address.hpp>
#include <formats/places/object_store.hpp>
#include <penstock/error.hpp>
#include <storage/uring/uring_refusal.hpp>
#include <transforms/simd_targets.hpp>

#include "command.hpp"
#include "doctor_bandwidth.hpp"
#include "output.hpp"

namespace penstock::cli {
namespace {

std::string limit_text(std::uint64_t limit) {
  return limit == kUnlimited ? "unlimited" : bytes_text(limit);
}

std::string cores_text(const Machine& machine) {
  std::string text = std::to_string(machine.cores_usable) + " usable of " + std::to_string(machine.cores_online);
  if (machine.cores_affinity < machine.cores_online)
    text += ", " + std::to_string(machine.cores_affinity) + " by affinity";
  if (machine.cpu_quota) text += ", " + fixed(*machine.cpu_quota, 1) + " by control group quota";
  return text;
}

std::string memory_text(const Machine& machine) {
  return bytes_text(machine.memory_total) + ", " + bytes_text(machine.memory_available) + " available, huge pages " +
         (machine.transparent_huge_pages.empty() ? "unknown" : machine.transparent_huge_pages);
}

std::string gpu_text() {
  const CudaFacts facts = cuda_facts();
  std::string text = joined_text(facts.devices, "; ");
  if (text.empty()) text = "none used: " + facts.problem;
  text += facts.toolkit.empty() ? "" : "; built with CUDA " + facts.toolkit;
  return text + (facts.driver.empty() ? "" : ", driver for CUDA " + facts.driver);
}

std::string library_text(const LibraryFacts& facts) {
  return facts.problem.empty() ? facts.version + " at " + facts.library : "none: " + facts.problem;
}

std::string disk_text(const std::filesystem::path& path) {
  const Disk disk = disk_of(path);
  std::string text = disk.file_system + " on " + disk.source + " at " + disk.mount + ", " + bytes_text(disk.available) +
                     " free of " + bytes_text(disk.size);
  if (!disk.device.empty()) text += ", device " + disk.device;
  if (disk.rotational) text += *disk.rotational ? " (reported as rotational)" : " (solid state)";
  if (!disk.scheduler.empty()) text += ", scheduler " + disk.scheduler;
  if (disk.read_ahead > 0) text += ", read-ahead " + bytes_text(disk.read_ahead);
  return text;
}

std::string libraries_text(const Machine& machine) {
  return joined_text(machine.libraries, ", ", [](const auto& library) { return library.first + " " + library.second; });
}

std::string indexes_text() {
  if (const std::filesystem::path folder = index_folder(); !folder.empty())
    return folder.string() + ", if they cannot be stored beside their data";
  return "only beside their data: set PENSTOCK_INDEX_DIR for datasets on read-only storage";
}

std::string format_names() {
  return joined_text(formats(), ", ", [](const Format& format) {
    return std::string(format.name) + (format.write == nullptr ? " (read only)" : "");
  });
}

std::string stores_text() {
  try {
    return object_store().about();
  } catch (const Error& error) {
    return std::string("none: ") + error.what();
  }
}

// Requests the manifest of a dataset packed there. The first request is for all of it, because a response without a
// body does not show that the bucket is missing. The other requests only ask whether it exists.
std::string answers_text(const std::string& address) {
  constexpr int kAsked = 5;
  const std::string manifest = address + (address.ends_with('/') ? "" : "/") + std::string(Manifest::kFileName);
  const auto milliseconds = [](const auto& asked) {
    const auto began = std::chrono::steady_clock::now();
    asked();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
  };
  bool packed = false;
  ObjectInfo info;
  const double first =
      milliseconds([&] { packed = object_store().read_whole(manifest, info, Manifest::kLongest).has_value(); });
  std::vector<double> later;
  for (int i = 0; i < kAsked; ++i) later.push_back(milliseconds([&] { object_store().find(manifest); }));
  std::ranges::sort(later);
  return "the first after " + fixed(first, 1) + " ms, later ones after " + fixed(later[kAsked / 2], 1) + " ms; " +
         (packed ? "found a dataset packed by penstock" : "found no dataset packed by penstock");
}

int run(const std::string& path) {
  require_known_simd_limit();
  const auto address = address_of(path);
  const Machine machine = this_machine(uring_refusal());
  std::string text = "penstock " PENSTOCK_VERSION "\n";
  const auto line = [&](std::string name, const std::string& value) {
    name.resize(14, ' ');
    text += "  " + name + value + "\n";
  };
  line("kernel", machine.kernel);
  line("processor", machine.cpu);
  line("SIMD", simd_text());
  line("cores", cores_text(machine));
  line("memory", memory_text(machine));
  line("io_uring", machine.io_uring + (machine.io_uring_errno == 0 ? "" : "; reads go through pread instead"));
  line("memlock", limit_text(machine.memlock_limit));
  line("open files", with_commas(machine.open_files_limit));
  line("GPU", gpu_text());
  line("nvJPEG", library_text(nvjpeg_facts()));
  line("cuFile", library_text(cufile_facts()));
  line("formats", format_names());
  line("libraries", libraries_text(machine));
  line("stores", stores_text());
  if (!address) line("disk", disk_text(path));
  line("indexes", indexes_text());
  if (!address) {
    print(text);
    return 0;
  }
  line("place", shown_place(path));
  const std::exception_ptr failure = caught([&] {
    const std::string asked = object_store().admit(address->string());
    const std::string access = object_store().access(asked);
    line("access", access.empty() ? "sent without credentials" : access);
    line("answers", answers_text(asked));
  });
  print(text);
  if (failure) std::rethrow_exception(failure);
  return 0;
}

}  // namespace

Command doctor_command(CLI::App& app) {
  const auto path = std::make_shared<std::string>(".");
  const auto bandwidth = std::make_shared<BandwidthArguments>();
  CLI::App* command = app.add_subcommand("doctor", "Show the hardware, libraries and limits of this machine");
  command->add_option("PATH", *path, "Path on the storage to check, or an address in a store")->capture_default_str();
  bandwidth->declare(*command);
  command->footer(
      "Examples:\n"
      "  penstock doctor /data\n"
      "  penstock doctor s3://bucket/train     also shows the credentials in use and the response time\n"
      "  penstock doctor --bandwidth train.tar.d --step 25 --batch-size 256");
  return {command, [path, bandwidth] { return bandwidth->measure ? bandwidth->run(*path) : run(*path); }};
}

}  // namespace penstock::cli
