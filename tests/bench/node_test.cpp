// Tests what is counted of a machine's cores, disks and networks, on made files of /proc and /sys.
#include <doctest/doctest.h>

#include <bench/watch/node.hpp>

#include "support/temporary_folder.hpp"

namespace penstock::test::node_test {

using namespace std::chrono_literals;

TEST_CASE("cores, disks and networks are told by what changed between two looks") {
  const TemporaryFolder root;
  write_file(
      root / "proc/stat",
      "cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 50 0 25 400 25 0 0 0 0 0\ncpu1 50 0 25 400 25 0 0 0 0 0\nintr 1 2\n");
  write_file(root / "proc/self/cgroup", "0::/job\n");
  write_file(root / "sys/fs/cgroup/job/cpu.max", "150000 100000\n");
  write_file(root / "sys/fs/cgroup/job/cpu.stat", "usage_usec 1000000\nuser_usec 1\n");
  write_file(root / "sys/block/sda/size", "1");
  write_file(root / "sys/block/loop0/size", "1");
  write_file(root / "proc/diskstats",
             "   8  0 sda 10 0 100 5 3 0 40 2 0 1000 7\n   8  1 sda1 10 0 100 5 3 0 40 2 0 1000 7\n"
             "   7  0 loop0 9 0 9 9 9 0 9 9 0 9 9\n   8 16 sdb\n");
  write_file(root / "proc/net/dev",
             "Inter-|   Receive  |  Transmit\n face |bytes packets errs\n    lo: 5 5 0 0 0 0 0 0 5 5 0 0 0 0 0 0\n"
             "  eth0:1000 5 0 0 0 0 0 0 400 5 0 0 0 0 0 0\n  eth1: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
  NodeCount before = count_node(root.path());
  CHECK(before.cores == 2);
  CHECK(before.ticks == 1000);
  CHECK(before.busy == 150);
  CHECK(before.quota == 1.5);
  CHECK(before.group_used == 1.0);
  REQUIRE(before.disks.size() == 1);  // neither a part, nor a loop, nor a line cut short
  CHECK(before.disks.front().read_bytes == 51'200);
  REQUIRE(before.networks.size() == 1);
  CHECK(before.networks.front().sent == 400);

  NodeCount after = before;
  after.at = before.at + 2s;
  after.ticks += 400;
  after.busy += 100;
  after.group_used = 3.0;
  after.disks.front().read_bytes += 4'000'000;
  after.disks.front().reads += 20;
  after.disks.front().busy += 1.0;
  after.networks.front().received += 6'000;
  const NodeUse use = use_between(before, after);
  CHECK(use.cores_busy == doctest::Approx(0.5));
  CHECK(use.group_busy == 1.0);
  REQUIRE(use.disks.size() == 1);
  CHECK(use.disks.front().read_per_s == 2e6);
  CHECK(use.disks.front().reads_per_s == 10);
  CHECK(use.disks.front().busy == 0.5);
  REQUIRE(use.networks.size() == 1);
  CHECK(use.networks.front().received_per_s == 3'000);

  const NodeUse back = use_between(after, before);  // counts that went back are no rates
  CHECK(back.cores_busy == 0);
  CHECK(back.disks.front().read_per_s == 0);
  CHECK(use_between(after, after).disks.front().busy == 0);
}

TEST_CASE("control groups of version 1, and a machine of which nothing can be read") {
  const TemporaryFolder root;
  write_file(root / "proc/self/cgroup", "4:cpu,cpuacct:/docker/abc\n1:name=systemd:/x\n");
  write_file(root / "sys/fs/cgroup/cpuacct/cpuacct.usage", "2500000000\n");
  CHECK(count_node(root.path()).group_used == 2.5);
  const TemporaryFolder nothing;
  const NodeCount empty = count_node(nothing.path());
  CHECK(empty.cores == 0);
  CHECK_FALSE(empty.group_used);
  CHECK(use_between(empty, empty).cores_busy == 0);
}

}  // namespace penstock::test::node_test
