// Finds the loaders that publish their metrics on this machine.
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
  std::string program;   ///< printable ASCII; "?" if unknown
  bool here = true;      ///< in this process's PID namespace; else in another container
  bool stopped = false;  ///< whether the process is stopped, by a signal or a debugger
};

struct Watched {
  std::vector<WatchedLoader> loaders;  ///< ordered by process and number
  std::vector<std::string> refused;    ///< unreadable pages and folders, with the reason
};

struct WatchOptions {
  std::optional<std::uint64_t> process;       ///< only of this process
  std::filesystem::path shared = "/dev/shm";  ///< location of the users' folders
  uid_t user;                                 ///< owner of the loaders; 0: all users
};

/// Also removes the user's own pages whose processes have ended. Never fails: unreadable pages are listed in `refused`.
Watched watched_loaders(const WatchOptions& options);

/// With the labels pid, loader, program, rank and world, and namespace for loaders in another container.
std::string metrics_of(const Watched& watched);

}  // namespace penstock
