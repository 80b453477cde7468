// The page of shared memory in which a loader shows its statistics to `penstock top`, and the functions to read it.
//
//   word  0  magic "penstock"         7  sequence: odd while the words after it are being written
//         1  live_layout()            8  when they were written: steady clock, nanoseconds; so are the next two
//         2  words of Figures         9  earliest time of the next update
//         3  process                 10  since when next() waits, 0 if it does not; independent of sequence
//         4  when it started, ticks  11  1: the loader has ended
//         5  boot id, 2 words        12  Figures, as in memory
//
// All words have 64 bits in the machine's byte order. The file is named NAMESPACE.PID.START.NUMBER and has the size
// of a page.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include <formats/io/descriptor.hpp>
#include <record/watch/figures.hpp>

namespace penstock {

inline constexpr std::uint64_t kLiveLayout = 3;
/// Returns an FNV-1a hash of kLiveLayout and of the names of all counters. A reader rejects pages of a build with
/// other counters.
std::uint64_t live_layout();

/// Identifies a process. The start time distinguishes it from a later process with the same number.
struct ProcessIdentity {
  std::uint64_t pid_namespace = 0;  ///< the namespace of `pid`
  std::uint64_t pid = 0;
  std::uint64_t start = 0;  ///< ticks since the machine started: /proc/PID/stat, field 22 (proc(5))
  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};
/// Throws Error: io, if /proc cannot be read.
ProcessIdentity this_process();
/// Returns false for a process that has ended, is a zombie, or whose number now belongs to another process. Returns
/// true for a process of another namespace, which cannot be checked.
bool lives(const ProcessIdentity& process);

/// Returns "/dev/shm/penstock-UID".
std::filesystem::path live_folder(uid_t user);

struct LivePageName {
  ProcessIdentity process;
  std::uint64_t number = 0;  ///< of the loader in its process, starting at 1
};
std::optional<LivePageName> parse_live_name(std::string_view name);  ///< nothing if it is not a page's name
std::string live_name(const LivePageName& page);

/// The page that a loader writes. Only one thread at a time may use it. Children of fork() do not inherit it.
class LivePage {
 public:
  /// Makes the folder with mode 0700 if there is none, and the page in it with mode 0600. Removes pages of processes
  /// that have ended. Throws Error, if the folder belongs to another user or memory runs out.
  explicit LivePage(const std::filesystem::path& folder);
  ~LivePage();  ///< marks the page as finished and removes it
  LivePage(LivePage&&) = delete;

  using Time = std::chrono::steady_clock::time_point;
  void show(const Figures& figures, Time now, Time next) noexcept;
  /// Shows since when next() waits; nothing: it has returned.
  void waits_since(std::optional<Time> since) noexcept;
  const std::string& name() const { return name_; }

 private:
  friend std::optional<struct LiveView> read_live_page(const Descriptor& folder, const std::string& name, uid_t user);
  struct Words;
  bool ours() const noexcept;

  Descriptor folder_;
  std::string name_;
  std::uint64_t pid_ = 0;
  Words* words_ = nullptr;
  std::uint64_t sequence_ = 0;
};

/// The content of a page at one moment.
struct LiveView {
  LivePageName page;
  Figures figures;
  std::chrono::nanoseconds shown{}, next{};  ///< of the steady clock
  std::optional<std::chrono::nanoseconds> waits_since;
  bool of_this_boot = true;  ///< if false, the process ended with the machine's previous boot
  bool finished = false;
};

/// Reads the page of a file in an open folder that belongs to `user`. Returns nothing if the file is gone, or if it
/// is written to during every attempt. Throws Error: unsupported, for a page of another version of penstock; corrupt,
/// for a file that is not a page; io.
std::optional<LiveView> read_live_page(const Descriptor& folder, const std::string& name, uid_t user);

}  // namespace penstock
