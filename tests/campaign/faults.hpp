// Makes the system fail on demand (memory, threads, files, signals) by functions that stand before libc's own.
#pragma once

#include <cstdint>
#include <string>

#include "campaign/mutation.hpp"

namespace penstock::campaign {

/// What fails while a Faults is alive. Numbers count calls of the whole process from 1; 0: none fails.
struct FaultPlan {
  std::uint64_t allocation = 0;    ///< this call of operator new
  std::uint64_t allocations = 1;   ///< and so many in a row
  std::uint64_t thread = 0;        ///< this thread, and all after it
  std::uint64_t read = 0;          ///< this read of a file ends in EIO
  std::uint64_t reads = 1;         ///< and so many in a row
  std::uint64_t open = 0;          ///< this open ends in EMFILE
  std::uint64_t map = 0;           ///< this mapping of a file ends in ENOMEM
  std::uint64_t write = 0;         ///< this write, and all after it, end in ENOSPC
  std::uint64_t sync = 0;          ///< this fsync, and all after it, end in EIO
  std::uint64_t rename = 0;        ///< this rename, and all after it, end in EACCES
  bool short_reads = false;        ///< every other read brings half of what was asked
  bool interrupted_reads = false;  ///< every third read ends in EINTR
  bool signals = false;            ///< a signal with a handler arrives every 300 us
  bool storage_alone() const { return allocation == 0 && thread == 0; }
};

/// Nothing, in most cases; else one sort of failure, sometimes two.
/// `memory`: it may be memory; else it may be what writing needs.
FaultPlan draw_faults(Draws& draws, bool memory);
std::string to_string(const FaultPlan& plan);
bool any(const FaultPlan& plan);

/// One at a time. Memory fails only from arm_memory() on, and only where values are read and loaded: GCC's
/// std::filesystem and nlohmann's JSON, by which datasets are opened and made, end the process themselves where they
/// get none.
class Faults {
 public:
  explicit Faults(const FaultPlan& plan);
  ~Faults();
  Faults(const Faults&) = delete;
  Faults& operator=(const Faults&) = delete;
};

/// Of the Faults that are alive.
void arm_memory(const FaultPlan& plan);

/// Nothing fails that this thread asks for while one is alive: what the campaign itself does.
class Spared {
 public:
  Spared();
  ~Spared();
  Spared(const Spared&) = delete;
  Spared& operator=(const Spared&) = delete;
};

}  // namespace penstock::campaign
