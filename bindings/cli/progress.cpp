#include "progress.hpp"

#include <algorithm>
#include <cstdio>

#include <sys/ioctl.h>
#include <unistd.h>

#include <bench/measure/units.hpp>

#include "output.hpp"

namespace penstock::cli {
namespace {

using namespace std::chrono_literals;

std::size_t terminal_columns() {
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

std::string bar(double share, std::size_t width) {
  const auto full = static_cast<std::size_t>(share * static_cast<double>(width));
  return "[" + std::string(full, '=') + std::string(width - full, ' ') + "] ";
}

}  // namespace

Progress::Progress(std::string what, std::string unit)
    : what_(std::move(what)),
      unit_(std::move(unit)),
      terminal_(::isatty(STDERR_FILENO) == 1),
      start_(Clock::now()),
      shown_(start_) {}

Progress::~Progress() {
  if (drawn_) std::fputc('\n', stderr);
}

bool Progress::operator()(std::uint64_t done, std::uint64_t total, std::uint64_t bytes) {
  if (!started_) {
    started_ = true;
    first_done_ = done > 1 ? done : 0;
  }
  const auto now = Clock::now();
  const bool last = done >= total && total > 0;
  const auto interval = terminal_ ? 100ms : 5000ms;
  if (now - shown_ >= interval || (last && (drawn_ || terminal_))) {
    shown_ = now;
    std::string text = line(done, total, bytes);
    if (terminal_) {
      const double share = total > 0 ? static_cast<double>(std::min(done, total)) / static_cast<double>(total) : 0.0;
      const std::size_t columns = terminal_columns();
      if (text.size() + 16 < columns) text = bar(share, std::min<std::size_t>(30, columns - text.size() - 6)) + text;
      text.resize(std::min(text.size(), columns - 1));
      std::fprintf(stderr, "\r%s\x1b[K", text.c_str());
      std::fflush(stderr);
      drawn_ = true;
    } else {
      std::fprintf(stderr, "penstock: %s\n", text.c_str());
    }
  }
  return !interrupted();
}

std::string Progress::counted(std::uint64_t done, std::uint64_t total, double rate) const {
  const bool bytes = unit_ == kBytes;
  const std::string unit = bytes ? "" : " " + unit_;
  const auto shown = [bytes](std::uint64_t number) { return bytes ? bytes_text(number) : with_commas(number); };
  std::string text = "  " + shown(done);
  if (total > 0) text += "/" + shown(total);
  text += unit;
  if (total > 0) text += "  " + std::to_string(done * 100 / total) + " %";
  if (bytes) return text;  // the caller adds the rate of bytes
  return text + "  " + (rate < 10 ? fixed(rate, 1) : with_commas(static_cast<std::uint64_t>(rate))) + "/s";
}

std::string Progress::line(std::uint64_t done, std::uint64_t total, std::uint64_t bytes) const {
  const double seconds = std::max(std::chrono::duration<double>(Clock::now() - start_).count(), 1e-3);
  const double rate = static_cast<double>(done - std::min(done, first_done_)) / seconds;
  std::string text = what_ + counted(done, total, rate);
  if (bytes > 0)
    text += "  " + with_commas(static_cast<std::uint64_t>(static_cast<double>(bytes) / seconds / 1e6)) + " MB/s";
  if (done >= total) return text + "  in " + seconds_text(seconds);
  if (rate > 0) text += "  " + seconds_text(static_cast<double>(total - done) / rate) + " left";
  return text;
}

}  // namespace penstock::cli
