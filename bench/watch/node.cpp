#include <algorithm>
#include <array>
#include <fstream>
#include <numeric>
#include <sstream>

#include <base/cores.hpp>
#include <base/printable.hpp>
#include <bench/watch/node.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSector = 512;  // bytes; the kernel's unit for all devices

void count_cores(const fs::path& root, NodeCount& node) {
  std::ifstream file(root / "proc/stat");
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string name;
    fields >> name;
    if (!name.starts_with("cpu")) return;
    if (name != "cpu") {
      ++node.cores;
      continue;
    }
    std::array<std::uint64_t, 8> ticks{};  // user nice system idle iowait irq softirq steal
    for (std::uint64_t& kind : ticks) fields >> kind;
    node.ticks = std::accumulate(ticks.begin(), ticks.end(), std::uint64_t{0});
    node.busy = node.ticks - ticks[3] - ticks[4];
  }
}

// Uses cgroup version 2 if mounted, else version 1. Uses the group's own path, else (in a container) the root of the
// mount.
std::optional<double> group_used(const fs::path& root) {
  const fs::path mounts = root / "sys/fs/cgroup";
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // NUMBER:CONTROLLERS:PATH
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const fs::path group = fs::path(line.substr(second + 1)).relative_path();
    if (controllers.empty()) {
      for (const fs::path& at : {mounts / group, mounts}) {
        std::ifstream file(at / "cpu.stat");
        std::string name;
        double microseconds = 0;
        while (file >> name >> microseconds)
          if (name == "usage_usec") return microseconds * 1e-6;
      }
    } else if (("," + controllers + ",").find(",cpuacct,") != std::string::npos) {
      for (const fs::path& at : {mounts / "cpuacct" / group, mounts / "cpuacct"}) {
        std::ifstream file(at / "cpuacct.usage");
        double nanoseconds = 0;
        if (file >> nanoseconds) return nanoseconds * 1e-9;
      }
    }
  }
  return std::nullopt;
}

void count_disks(const fs::path& root, NodeCount& node) {
  std::ifstream file(root / "proc/diskstats");
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::uint64_t major = 0, minor = 0, merged = 0, read_sectors = 0, reading = 0, writes = 0, merged_writes = 0;
    std::uint64_t written_sectors = 0, writing = 0, now = 0, busy_ms = 0;
    DiskCount disk;
    fields >> major >> minor >> disk.name >> disk.reads >> merged >> read_sectors >> reading >> writes >>
        merged_writes >> written_sectors >> writing >> now >> busy_ms;
    if (!fields || disk.name.starts_with("loop") || disk.name.starts_with("ram") || disk.name.starts_with("zram"))
      continue;
    std::error_code absent;  // partitions are skipped, because their disk includes them
    std::string in_sys = disk.name;
    std::ranges::replace(in_sys, '/', '!');
    if (!fs::exists(root / "sys/block" / in_sys, absent) || disk.reads + writes == 0) continue;
    disk.name = one_line(disk.name);
    disk.read_bytes = read_sectors * kSector;
    disk.written_bytes = written_sectors * kSector;
    disk.busy = static_cast<double>(busy_ms) * 1e-3;
    node.disks.push_back(std::move(disk));
  }
}

void count_networks(const fs::path& root, NodeCount& node) {
  std::ifstream file(root / "proc/net/dev");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    NetworkCount network;
    std::istringstream(line.substr(0, colon)) >> network.name;
    std::istringstream fields(line.substr(colon + 1));
    std::uint64_t skipped = 0;
    fields >> network.received;
    for (int i = 0; i < 7; ++i) fields >> skipped;
    fields >> network.sent;
    if (!fields || network.name == "lo" || network.received + network.sent == 0) continue;
    network.name = one_line(network.name);
    node.networks.push_back(std::move(network));
  }
}

double difference(std::uint64_t before, std::uint64_t after) {
  return after > before ? static_cast<double>(after - before) : 0;
}

template <typename Count>
const Count* same(const std::vector<Count>& among, const std::string& name) {
  const auto found = std::ranges::find(among, name, &Count::name);
  return found == among.end() ? nullptr : &*found;
}

}  // namespace

NodeCount count_node(const fs::path& root) {
  NodeCount node;
  node.at = std::chrono::steady_clock::now();
  count_cores(root, node);
  node.quota = cpu_quota(root);
  node.group_used = group_used(root);
  count_disks(root, node);
  count_networks(root, node);
  return node;
}

NodeUse use_between(const NodeCount& before, const NodeCount& after) {
  const double seconds = std::chrono::duration<double>(after.at - before.at).count();
  const auto rate = [&](std::uint64_t was, std::uint64_t is) {
    return seconds > 0 ? difference(was, is) / seconds : 0;
  };
  NodeUse use;
  use.cores = after.cores;
  use.quota = after.quota;
  if (const double ticks = difference(before.ticks, after.ticks); ticks > 0)
    use.cores_busy = std::min(1.0, difference(before.busy, after.busy) / ticks) * after.cores;
  if (before.group_used && after.group_used && seconds > 0)
    use.group_busy = std::max(0.0, *after.group_used - *before.group_used) / seconds;
  for (const DiskCount& disk : after.disks) {
    const DiskCount* const was = same(before.disks, disk.name);
    if (was == nullptr) continue;
    use.disks.push_back({.name = disk.name,
                         .read_per_s = rate(was->read_bytes, disk.read_bytes),
                         .written_per_s = rate(was->written_bytes, disk.written_bytes),
                         .reads_per_s = rate(was->reads, disk.reads),
                         .busy = seconds > 0 ? std::clamp((disk.busy - was->busy) / seconds, 0.0, 1.0) : 0});
  }
  for (const NetworkCount& network : after.networks) {
    if (const NetworkCount* const was = same(before.networks, network.name))
      use.networks.push_back({.name = network.name,
                              .received_per_s = rate(was->received, network.received),
                              .sent_per_s = rate(was->sent, network.sent)});
  }
  return use;
}

}  // namespace penstock
