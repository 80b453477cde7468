#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <support/mount_namespace.hpp>
#include <support/temporary_folder.hpp>
#include <thread>

#include <doctest/doctest.h>

#include <base/cores.hpp>
#include <base/machine.hpp>
#include <penstock/error.hpp>
#include <penstock/options.hpp>
#include <storage/uring/uring_refusal.hpp>

#include "support/skip.hpp"

namespace penstock::test::machine_test {

TEST_CASE("the smallest quota of a v2 group and those above it counts") {
  const TemporaryFolder root;
  write_file(root / "proc/self/cgroup", "0::/pod/job\n");
  CHECK_FALSE(cpu_quota(root.path()).has_value());
  write_file(root / "sys/fs/cgroup/pod/job/cpu.max", "max 100000\n");
  CHECK_FALSE(cpu_quota(root.path()).has_value());
  write_file(root / "sys/fs/cgroup/pod/cpu.max", "250000 100000\n");
  CHECK(cpu_quota(root.path()) == 2.5);
  write_file(root / "sys/fs/cgroup/pod/job/cpu.max", "150000 100000\n");
  CHECK(cpu_quota(root.path()) == 1.5);
}

TEST_CASE("in a container, where the group's path does not exist, the mount's own quota counts") {
  const TemporaryFolder root;
  write_file(root / "proc/self/cgroup", "0::/../../outside\n");
  write_file(root / "sys/fs/cgroup/cpu.max", "400000 100000\n");
  CHECK(cpu_quota(root.path()) == 4);
}

TEST_CASE("v1 groups are read where they are mounted, and -1 is no limit") {
  const TemporaryFolder root;
  write_file(root / "proc/self/cgroup", "12:memory:/job\n4:cpu,cpuacct:/job\n1:name=systemd:/\n");
  write_file(root / "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
  write_file(root / "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  CHECK_FALSE(cpu_quota(root.path()).has_value());
  write_file(root / "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "300000\n");
  CHECK(cpu_quota(root.path()) == 3);
}

TEST_CASE("text that is no group list means no quota") {
  const TemporaryFolder root;
  CHECK_FALSE(cpu_quota(root.path()).has_value());
  write_file(root / "proc/self/cgroup", "nonsense\n::\n0::\n");
  write_file(root / "sys/fs/cgroup/cpu.max", "0 0\n");
  CHECK_FALSE(cpu_quota(root.path()).has_value());
}

TEST_CASE("idle cores are what the machine's and the groups' counts leave") {
  const TemporaryFolder root;
  const auto stat = [&](int idle) {  // of any core that the process may use
    std::string text = "cpu  1 2 3 4\n";
    for (int core = 0; core < 512; ++core)
      text += "cpu" + std::to_string(core) + " 10 0 5 " + std::to_string(idle) + " 1 0 0 0 0 0\n";
    write_file(root / "proc/stat", text + "intr 1 2 3\n");
  };
  const double cores = cores_in_affinity_mask();
  stat(1'000);
  {
    IdleCores idle(root.path());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stat(1'000 + 100'000'000);
    CHECK(idle.lap().value() > cores);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    CHECK(idle.lap() == 0.0);
  }
  SUBCASE("of a v2 group with a quota, what it has not used") {
    write_file(root / "proc/self/cgroup", "0::/job\n");
    write_file(root / "sys/fs/cgroup/job/cpu.max", "300000 100000\n");
    write_file(root / "sys/fs/cgroup/job/cpu.stat", "usage_usec 5000000\nuser_usec 1\n");
    IdleCores idle(root.path());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stat(1'000 + 200'000'000);
    CHECK(idle.lap() == doctest::Approx(3));
    write_file(root / "sys/fs/cgroup/job/cpu.stat", "usage_usec 900000000\n");
    stat(1'000 + 300'000'000);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK(idle.lap() == 0.0);
  }
  SUBCASE("of a v1 group") {
    write_file(root / "proc/self/cgroup", "4:cpu,cpuacct:/job\n");
    write_file(root / "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "150000\n");
    write_file(root / "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
    write_file(root / "sys/fs/cgroup/cpu,cpuacct/job/cpuacct.usage", "7000000000\n");
    IdleCores idle(root.path());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stat(1'000 + 200'000'000);
    CHECK(idle.lap() == doctest::Approx(1.5));
  }
  SUBCASE("zeros and other text tell nothing") {
    for (const char* text : {"", "cpu0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\n", "nonsense\n"}) {
      write_file(root / "proc/stat", text);
      IdleCores idle(root.path());
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      CHECK_FALSE(idle.lap().has_value());
    }
  }
  CHECK(IdleCores().lap().value_or(0) >= 0);
}

TEST_CASE("usable cores are whole, at least one, and no more than the mask has") {
  CHECK(cores_within(8, std::nullopt) == 8);
  CHECK(cores_within(8, 2.5) == 3);
  CHECK(cores_within(8, 0.2) == 1);
  CHECK(cores_within(2, 16) == 2);
  CHECK(cores_within(0, std::nullopt) == 1);
  CHECK(usable_cores() >= 1);
  CHECK(usable_cores() <= cores_in_affinity_mask());
}

TEST_CASE("ranks on one machine share its cores and its quota, unless the launcher has bound them") {
  CHECK(cores_of_rank(64, 64, std::nullopt, 8) == 8);
  CHECK(cores_of_rank(64, 64, 16.0, 8) == 2);
  CHECK(cores_of_rank(8, 64, std::nullopt, 8) == 8);  // bound
  CHECK(cores_of_rank(8, 64, 16.0, 8) == 2);
  CHECK(cores_of_rank(2, 2, std::nullopt, 8) == 1);
  CHECK(cores_of_rank(2, 2, std::nullopt, 1) == 2);
  CHECK(cores_of_rank(2, 2, std::nullopt, 0) == 2);
}

TEST_CASE("this machine is described") {
  const Machine machine = this_machine(uring_refusal());
  CHECK(machine.kernel.find("Linux") == 0);
  CHECK(machine.cores_usable == usable_cores());
  CHECK(machine.memory_total > machine.memory_available);
  CHECK(machine.page_size >= 4096);
  CHECK(machine.open_files_limit > 0);
  CHECK((machine.io_uring_errno == 0) == (machine.io_uring == "available"));
  CHECK(machine.libraries.size() >= 5);
}

TEST_CASE("a path's disk is described, a missing path is an i/o error") {
  const TemporaryFolder folder;
  const Disk disk = disk_of(folder.path());
  CHECK_FALSE(disk.file_system.empty());
  CHECK(disk.size >= disk.available);
  MESSAGE(disk.file_system << " on " << disk.source << ", scheduler " << disk.scheduler);
  CHECK(disk_of("/proc").file_system == "proc");
  CHECK_THROWS_AS(disk_of(folder / "missing"), Error);
}

TEST_CASE("of several mounts of a device, the one of the path is named") {
  const TemporaryFolder folder;
  const auto data = std::filesystem::canonical(folder.path()) / "my data", other = data.parent_path() / "other";
  for (const auto& place : {data, other}) std::filesystem::create_directories(place / "inside");
  const auto named = in_mount_namespace([&]() -> std::optional<bool> {
    for (const auto& place : {data, other})
      if (::mount(place.c_str(), place.c_str(), nullptr, MS_BIND, nullptr) != 0) return std::nullopt;
    return disk_of(data / "inside").mount == data && disk_of(other).mount == other &&
           disk_of(data.parent_path()).mount != data;
  });
  if (!named) return skip(kNoMountNamespace);
  CHECK(*named);
}

}  // namespace penstock::test::machine_test
