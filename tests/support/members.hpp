// Processes that share memory under a test's eyes: they are started, met, killed, and their memory is looked for.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <new>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace penstock::test {

/// What the members tell each other and the test; every number begins as 0.
struct Slate {
  std::atomic<std::uint64_t> arrived, failed, stop;
  std::array<std::array<std::atomic<std::uint64_t>, 8>, 512> notes;

  /// Until `count` have arrived, or one has failed.
  void meet(std::uint64_t count) {
    ++arrived;
    while (arrived < count && failed == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
};

/// Runs processes that are forked, and ends them all when it goes. No thread may run in the test's process.
class Members {
 public:
  Members()
      : slate_(new (::mmap(nullptr, sizeof(Slate), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
                   Slate()) {}
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;
  ~Members() {
    for (std::size_t i = 0; i < processes_.size(); ++i) kill(i);
    ::munmap(slate_, sizeof(Slate));
  }

  Slate& slate() { return *slate_; }
  /// A process that does `work`, which finds what is wrong false, or throws. Returns its number, from 0 on.
  std::size_t start(const std::function<bool(Slate& slate, std::size_t number)>& work) {
    const std::size_t number = processes_.size();
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child != 0) {
      processes_.push_back(child);
      return number;
    }
    bool good = false;
    try {
      good = work(*slate_, number);
    } catch (const std::exception& error) {
      std::cerr << "a member ends with " << error.what() << "\n";
    }
    if (!good) ++slate_->failed;
    ::_exit(good ? 0 : 1);
  }
  void kill(std::size_t number) {
    if (processes_[number] == 0) return;
    ::kill(processes_[number], SIGKILL);
    ::waitpid(processes_[number], nullptr, 0);
    processes_[number] = 0;
  }
  /// Waits for its end; true when it found everything as it should be.
  bool ended_well(std::size_t number) {
    int status = 1;
    if (processes_[number] != 0) ::waitpid(processes_[number], &status, 0);
    processes_[number] = 0;
    return status == 0;
  }
  pid_t process(std::size_t number) const { return processes_[number]; }

 private:
  Slate* slate_;
  std::vector<pid_t> processes_;
};

/// Waits until `reached`, for a minute at most.
inline bool comes(const std::function<bool()>& reached) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!reached()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

/// Inodes of the files in memory that are a sample cache, among the descriptors of a process ("self", or its number).
inline std::vector<std::uint64_t> node_memories(const std::string& process = "self") {
  std::vector<std::uint64_t> found;
  std::error_code failed;
  for (std::filesystem::directory_iterator file("/proc/" + process + "/fd", failed), end; !failed && file != end;
       file.increment(failed)) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(file->path(), gone).string();
    struct stat status {};
    if (!gone && target.starts_with("/memfd:penstock-cache") && ::stat(file->path().c_str(), &status) == 0)
      found.push_back(status.st_ino);
  }
  return found;
}

/// Whether that process has the file in memory open or mapped.
inline bool holds_memory(const std::string& process, std::uint64_t inode) {
  for (const std::uint64_t open : node_memories(process))
    if (open == inode) return true;
  std::ifstream maps("/proc/" + process + "/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/memfd:penstock-cache") == std::string::npos) continue;
    std::istringstream words(line);
    std::string range, rights, offset, device;
    std::uint64_t found = 0;
    words >> range >> rights >> offset >> device >> found;
    if (found == inode) return true;
  }
  return false;
}

/// Processes of this machine that do.
inline std::size_t holders(std::uint64_t inode) {
  std::size_t count = 0;
  std::error_code failed;
  for (std::filesystem::directory_iterator process("/proc", failed), end; !failed && process != end;
       process.increment(failed)) {
    const std::string name = process->path().filename().string();
    if (name.find_first_not_of("0123456789") == std::string::npos && holds_memory(name, inode)) ++count;
  }
  return count;
}

}  // namespace penstock::test
