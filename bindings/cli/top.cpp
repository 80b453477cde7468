#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <bench/watch/loopback_server.hpp>
#include <bench/watch/top.hpp>
#include <bench/web/site.hpp>
#include <formats/io/atomic_file.hpp>
#include <penstock/error.hpp>
#include <record/watch/openmetrics.hpp>

#include "command.hpp"
#include "output.hpp"

namespace penstock::cli {
namespace {

constexpr std::chrono::milliseconds kFirstLooks{500};  // between the two of one snapshot

struct TopArguments {
  std::optional<std::uint64_t> process;
  bool once = false, json = false;
  std::optional<double> every;
  std::optional<std::uint16_t> metrics, web;
  std::string metrics_file;

  WatchOptions watch() const { return {.process = process, .shared = "/dev/shm", .user = ::geteuid()}; }
  std::chrono::milliseconds pause(double seconds) const {
    return std::chrono::milliseconds(static_cast<std::int64_t>(every.value_or(seconds) * 1e3));
  }
};

/// While this object exists, the terminal delivers each key at once and shows its alternate screen.
class Screen {
 public:
  Screen() : keys_(::isatty(STDIN_FILENO) != 0 && ::tcgetattr(STDIN_FILENO, &before_) == 0) {
    if (keys_) {
      termios raw = before_;
      raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    print("\x1b[?1049h\x1b[?25l");
  }
  ~Screen() {
    if (keys_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
    try {
      print("\x1b[?25h\x1b[?1049l");
    } catch (...) {  // the terminal is gone
    }
  }
  Screen(Screen&&) = delete;

  void show(const std::string& text) const {
    std::string lines = "\x1b[H";
    std::size_t shown = 0, begin = 0;
    const std::size_t room = std::max<std::size_t>(2, size().ws_row) - 1;
    for (; begin < text.size() && shown < room; ++shown) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      lines += text.substr(begin, end - begin) + "\x1b[K\r\n";
      begin = end + 1;
    }
    print(lines + "\x1b[J");
  }
  std::size_t width() const { return size().ws_col; }
  /// False when the user asked to end.
  bool wait(std::chrono::milliseconds time) const {
    const auto until = std::chrono::steady_clock::now() + time;
    while (!interrupted()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
      if (left.count() <= 0) return true;
      pollfd input{STDIN_FILENO, POLLIN, 0};
      if (::poll(&input, keys_ ? 1 : 0, static_cast<int>(left.count())) <= 0) continue;
      char key = 'q';
      if (::read(STDIN_FILENO, &key, 1) <= 0 || key == 'q' || key == 'Q') return false;
    }
    return false;
  }

 private:
  static winsize size() {
    winsize found{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &found) != 0 || found.ws_col == 0) found = {24, 80, 0, 0};
    return found;
  }
  termios before_{};
  bool keys_;
};

void wait_for(std::chrono::milliseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  while (!interrupted()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    if (left.count() <= 0 || ::poll(nullptr, 0, static_cast<int>(left.count())) == 0) return;
  }
}

[[noreturn]] void shows_no_loader(std::uint64_t process) {
  const bool runs = ::kill(static_cast<pid_t>(process), 0) == 0 || errno == EPERM;
  throw Error(ErrorKind::io,
              "process " + std::to_string(process) + " shows no loader: " +
                  (runs ? "it has not taken a batch from one yet, has publish=False, or belongs to another user"
                        : "there is no such process"));
}

int snapshot(const TopArguments& options) {
  const Look before = look_around(options.watch());
  wait_for(std::min(kFirstLooks, options.pause(1)));
  const Look after = look_around(options.watch());
  const bool none = options.process && after.watched.loaders.empty();
  if (options.json || !none) print(options.json ? top_json(before, after) : top_text(before, after));
  if (none) shows_no_loader(*options.process);
  return 0;
}

int live(const TopArguments& options) {
  const Screen screen;
  Look before = look_around(options.watch());
  std::chrono::milliseconds pause = std::min(kFirstLooks, options.pause(1));
  while (screen.wait(pause)) {
    Look after = look_around(options.watch());
    screen.show(top_text(before, after, screen.width()));
    before = std::move(after);
    pause = options.pause(1);
  }
  return 0;
}

void say_address(const char* what, std::uint16_t port, const std::string& path) {
  std::fprintf(stderr, "penstock: %s at http://127.0.0.1:%u/%s\n", what, port, path.c_str());
}

// Until it is interrupted, which is how it ends well.
int serve_page(const TopArguments& options) {
  const std::chrono::milliseconds pause = options.pause(1);
  LiveSite site(pause);
  LoopbackServer server(*options.web, [&](std::string_view path) { return site.answer(path); });
  say_address("live page", server.port(), site.token() + "/");
  // jupyter-server-proxy serves the ports of the machine under this prefix.
  if (const char* const hub = std::getenv("JUPYTERHUB_SERVICE_PREFIX"); hub != nullptr)
    std::fprintf(stderr, "penstock: through JupyterHub at %sproxy/%u/%s/\n", hub, server.port(), site.token().c_str());
  site.add(look_around(options.watch()));
  server.serve_for(std::min(kFirstLooks, pause));
  while (!interrupted()) {
    site.add(look_around(options.watch()));
    server.serve_for(pause);
  }
  return 0;
}

HttpAnswer metrics_answer(std::string_view path, const TopArguments& options) {
  if (path != "/metrics") return http_refusal("404 Not Found");
  return {.type = std::string(kOpenMetricsType), .body = metrics_of(watched_loaders(options.watch())), .headers = {}};
}

void write_metrics(const TopArguments& options) {
  const std::string text = metrics_of(watched_loaders(options.watch()));
  write_atomically(options.metrics_file, {std::as_bytes(std::span(text))}, 0644);
}

// Until it is interrupted, which is how it ends well.
int serve(const TopArguments& options) {
  if (!options.metrics_file.empty()) write_metrics(options);
  if (options.once) return 0;
  std::optional<LoopbackServer> server;
  if (options.metrics) {
    server.emplace(*options.metrics, [&](std::string_view path) { return metrics_answer(path, options); });
    say_address("metrics", server->port(), "metrics");
  }
  while (!interrupted()) {
    const std::chrono::milliseconds pause = options.pause(15);
    if (server) {
      server->serve_for(pause);
    } else {
      wait_for(pause);
    }
    if (!options.metrics_file.empty() && !interrupted()) write_metrics(options);
  }
  return 0;
}

int run(const TopArguments& options) {
  if (options.metrics && options.once)
    throw CLI::ValidationError("--metrics",
                               "cannot be combined with --once, because it serves until it is interrupted");
  const bool serves = options.metrics || !options.metrics_file.empty();
  if (serves && options.json)
    throw CLI::ValidationError("--json",
                               "cannot be combined with --metrics and --metrics-file, which write OpenMetrics text");
  if (options.web) return serve_page(options);
  if (serves) return serve(options);
  if (options.once || options.json || ::isatty(STDOUT_FILENO) == 0) return snapshot(options);
  return live(options);
}

}  // namespace

Command top_command(CLI::App& app) {
  const auto options = std::make_shared<TopArguments>();
  CLI::App* command = app.add_subcommand("top", "Watch the loaders of running programs, and the load of the machine");
  command->add_option("PID", options->process, "Only this process's loaders")->check([](const std::string& word) {
    const bool number = word.size() < 10 && std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
    return number ? "" : "must be the number of a process, not '" + word + "'";
  });
  const auto once = command->add_flag("--once", options->once, "Print one snapshot and exit, as without a terminal");
  const auto json = command->add_flag("--json", options->json, "Print one snapshot as JSON");
  command->add_option("--interval", options->every, "Refresh interval in seconds (1; for metrics files 15)")
      ->check(CLI::Range(0.1, 86400.0));
  const auto metrics = command->add_option("--metrics", options->metrics,
                                           "Serve OpenMetrics text at http://127.0.0.1:PORT/metrics; 0: any port");
  const auto file = command->add_option(
      "--metrics-file", options->metrics_file,
      "Write OpenMetrics text to this file in intervals, atomically, for node_exporter's textfile collector");
  command
      ->add_option("--web", options->web,
                   "Serve a live page at http://127.0.0.1:PORT/TOKEN/, an address that it prints; by default, any port")
      ->expected(0, 1)
      ->default_str("0")
      ->option_text("[PORT]")
      ->excludes(once, json, metrics, file);
  command->footer(
      "Keys: q quits. root sees the loaders of all users.\n"
      "Examples:\n"
      "  penstock top\n"
      "  penstock top --web 8080\n"
      "  penstock top --json 4711 | jq .loaders[0].samples_per_s\n"
      "  penstock top --metrics-file /var/lib/node_exporter/textfile/penstock.prom");
  return {command, [options] { return run(*options); }};
}

}  // namespace penstock::cli
