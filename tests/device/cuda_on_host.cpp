#include "cuda_on_host.hpp"

#include <array>
#include <barrier>
#include <map>
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

/// Threads that stay, because they take longer to make than most kernels do; they end with the process.
class Crew {
 public:
  explicit Crew(unsigned threads)
      : begun_(static_cast<std::ptrdiff_t>(threads) + 1), ended_(static_cast<std::ptrdiff_t>(threads) + 1) {
    for (unsigned t = 0; t < threads; ++t) {
      members_.emplace_back([this, t] {
        for (;;) {
          begun_.arrive_and_wait();
          (*work_)(t);
          ended_.arrive_and_wait();
        }
      });
    }
  }
  void run(const std::function<void(unsigned)>& work) {
    work_ = &work;
    begun_.arrive_and_wait();
    ended_.arrive_and_wait();
  }

 private:
  std::barrier<> begun_, ended_;
  const std::function<void(unsigned)>* work_ = nullptr;  // written between kernels
  std::vector<std::thread> members_;
};

/// One caller at a time.
Crew& crew_of(unsigned threads) {
  static auto& crews = *new std::map<unsigned, Crew*>;  // kernels may still run when statics end
  Crew*& crew = crews[threads];
  if (crew == nullptr) crew = new Crew(threads);
  return *crew;
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
  crew_of(threads).run([&](unsigned t) {
    team_here = &team;
    gridDim = grid, blockDim = dim3(threads), threadIdx = {t, 0, 0};
    for_each_block(grid, [&] {
      kernel();
      team.ended.arrive_and_wait();
    });
  });
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
