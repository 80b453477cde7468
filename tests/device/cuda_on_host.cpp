#include "cuda_on_host.hpp"

#include <array>
#include <barrier>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace penstock::test {
namespace {

constexpr unsigned kLanes = 32;

// Values are left where the time before last left them: who writes there has passed a barrier that all passed who read.
class Warp {
 public:
  explicit Warp(unsigned lanes) : meeting_(static_cast<std::ptrdiff_t>(lanes)) {}

  const std::array<std::uint32_t, kLanes>& exchange(unsigned lane, unsigned time, std::uint32_t mine) {
    values_[time % 2][lane] = mine;
    meeting_.arrive_and_wait();
    return values_[time % 2];
  }

 private:
  std::barrier<> meeting_;
  std::array<std::uint32_t, kLanes> values_[2] = {};
};

class Team {
 public:
  explicit Team(unsigned threads)
      : meeting(static_cast<std::ptrdiff_t>(threads)), ended(static_cast<std::ptrdiff_t>(threads)) {
    for (unsigned first = 0; first < threads; first += kLanes) {
      warps.push_back(std::make_unique<Warp>(std::min(kLanes, threads - first)));
    }
  }
  std::barrier<> meeting, ended;  // a thread that leaves a block meets nobody in it any more
  std::vector<std::unique_ptr<Warp>> warps;
};

thread_local Team* team_here = nullptr;
thread_local unsigned exchanges_here = 0;

Team& team() {
  if (team_here != nullptr) return *team_here;
  throw std::logic_error("a kernel whose threads meet is for launch_team_kernel()");
}

const std::array<std::uint32_t, kLanes>& exchange(unsigned mask, std::uint32_t mine) {
  if (mask != ~0U) throw std::logic_error("a part of a warp");
  return team().warps[threadIdx.x / kLanes]->exchange(threadIdx.x % kLanes, exchanges_here++, mine);
}

void for_each_block(dim3 grid, const std::function<void()>& block) {
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        blockIdx = {x, y, z};
        block();
      }
    }
  }
}

}  // namespace

void run_threads(dim3 grid, unsigned threads, const std::function<void()>& kernel) {
  gridDim = grid, blockDim = dim3(threads);
  for_each_block(grid, [&] {
    for (unsigned t = 0; t < threads; ++t) {
      threadIdx = {t, 0, 0};
      kernel();
    }
  });
}

void run_team(dim3 grid, unsigned threads, const std::function<void()>& kernel) {
  static std::mutex one_block;  // what is __shared__ is there once
  const std::scoped_lock lock(one_block);
  Team team(threads);
  std::vector<std::jthread> members;
  for (unsigned t = 0; t < threads; ++t) {
    members.emplace_back([&, t] {
      team_here = &team;
      gridDim = grid, blockDim = dim3(threads), threadIdx = {t, 0, 0};
      for_each_block(grid, [&] {
        kernel();
        team.ended.arrive_and_wait();
      });
    });
  }
}

void meet() {
  team().meeting.arrive_and_wait();
}

std::uint32_t value_of(unsigned mask, std::uint32_t mine, unsigned lanes_ahead) {
  const auto& values = exchange(mask, mine);
  const unsigned from = threadIdx.x % kLanes + lanes_ahead;
  return from < kLanes ? values[from] : mine;
}

unsigned votes(unsigned mask, bool mine) {
  const auto& values = exchange(mask, mine ? 1 : 0);
  unsigned all = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) all |= values[lane] << lane;
  return all;
}

}  // namespace penstock::test
