// Finds the loaders that show their figures on this machine.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include <record/watch/live_page.hpp>
#include <record/watch/openmetrics.hpp>

namespace penstock {

struct WatchedLoader {
  uid_t user = 0;
  LiveView view;
  std::string program;   ///< printable ASCII; "?" where it cannot be told
  bool here = true;      ///< in this process's namespace of processes: else in another container
  bool stopped = false;  ///< the process, by a signal or a debugger
};

struct Watched {
  std::vector<WatchedLoader> loaders;  ///< by process and number
  std::vector<std::string> refused;    ///< pages and folders that cannot be read, and why
};

struct WatchOptions {
  std::optional<std::uint64_t> process;       ///< of this one alone
  std::filesystem::path shared = "/dev/shm";  ///< where the users' folders are
  uid_t user;                                 ///< whose loaders; 0: everyone's
};

/// Removes the user's own pages whose processes have ended. Never fails: what cannot be read is in `refused`.
Watched watched_loaders(const WatchOptions& options);

/// With the labels pid, loader, program, rank and world; and namespace, of another container's.
std::string metrics_of(const Watched& watched);

}  // namespace penstock
