#include "output.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <vector>

#include <unistd.h>

#include <penstock/error.hpp>

namespace penstock::cli {
namespace {

volatile std::sig_atomic_t stop_asked = 0;  // the one thing a signal handler may write

void ask_to_stop(int) {
  stop_asked = 1;
}

void require_folder_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code code;
  if (!folder.empty() && !std::filesystem::is_directory(folder, code)) throw Error::io(ENOENT, "cannot write " + path);
  if (std::filesystem::is_directory(path, code)) throw Error::io(EISDIR, "cannot write " + path);
}

/// Whether two reports would be one file, also by links. The file may be missing. "-" is stdout.
bool same_file(const std::string& one, const std::string& other) {
  const auto path = [](const std::string& report) {
    std::error_code failure;
    return std::filesystem::absolute(report == "-" ? "/dev/stdout" : report, failure);
  };
  const auto canonical = [&](const std::string& report) {
    std::error_code failure;
    const std::filesystem::path found = std::filesystem::weakly_canonical(path(report), failure);
    return failure ? path(report) : found;
  };
  std::error_code missing;
  return std::filesystem::equivalent(path(one), path(other), missing) || canonical(one) == canonical(other);
}

}  // namespace

void print(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    } else if (errno == EPIPE) {
      throw BrokenPipe{};
    } else if (errno != EINTR) {
      throw Error::io(errno, "cannot write to the standard output");
    }
  }
}

void print(std::string_view text) {
  print(std::as_bytes(std::span(text)));
}

void write_report(const std::string& path, std::string_view text) {
  if (path == "-") return print(text);
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw Error::io(errno, "cannot write " + path);
}

void require_writable(std::initializer_list<std::string> reports) {
  std::vector<std::string> others;
  for (const std::string& report : reports) {
    if (report.empty()) continue;
    if (report != "-") require_folder_of(report);
    std::error_code code;
    if (std::filesystem::is_character_file(report, code)) continue;  // such as /dev/null
    const std::string place = report == "-" ? "stdout" : report;
    if (std::ranges::any_of(others, [&](const std::string& other) { return same_file(report, other); }))
      throw Error::invalid_argument("two reports would be written to " + place + "; name another file for one of them");
    others.push_back(report);
  }
}

void catch_signals() {
  struct sigaction action {};
  action.sa_handler = ask_to_stop;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

bool interrupted() {
  return stop_asked != 0;
}

}  // namespace penstock::cli
