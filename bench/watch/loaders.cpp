#include <algorithm>
#include <charconv>
#include <chrono>
#include <fstream>
#include <string_view>
#include <tuple>

#include <unistd.h>

#include <base/printable.hpp>
#include <bench/watch/loaders.hpp>
#include <formats/io/folder_entries.hpp>
#include <formats/io/ownership.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFolder = "penstock-";
constexpr std::size_t kMostPages = 10'000;  // pages of a folder that are read; the rest are left out

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// A program may choose any name, even one with control characters for the terminal.
std::string printable_ascii(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < 0x20 || c > 0x7e; }, '?');
  return text.empty() ? "?" : text;
}

// The name of the process, or of the Python script that it runs: `train.py` says more than `python3`.
std::string program_of(const fs::path& process) {
  std::string name = first_line(process / "comm");
  if (!name.starts_with("python") && !name.starts_with("pt_")) return name;
  std::ifstream words(process / "cmdline", std::ios::binary);
  for (std::string word; std::getline(words, word, '\0');)
    if (word.ends_with(".py")) return fs::path(word).filename();
  return name;
}

// For a process in this process's own namespace.
void describe(WatchedLoader& loader) {
  const fs::path process = "/proc/" + std::to_string(loader.view.page.process.pid);
  loader.program = printable_ascii(program_of(process));
  const std::string stat = first_line(process / "stat");
  // The name is in parentheses, and may contain parentheses and spaces itself.
  const std::size_t behind = stat.rfind(')');
  const char state = behind != std::string::npos && behind + 2 < stat.size() ? stat[behind + 2] : '?';
  loader.stopped = state == 'T' || state == 't';
}

void look_into(const fs::path& path, uid_t user, const WatchOptions& options, const ProcessIdentity& self,
               Watched& watched) {
  const auto refuse = [&](const std::string& what, const Error& error) {
    watched.refused.push_back(one_line(what) + ": " + error.cause());
  };
  try {
    const Descriptor folder = open_private_folder(path, user);
    std::size_t pages = 0;
    const auto look_at = [&](const char* name) {
      if (++pages > kMostPages)
        throw Error::resource("the folder has more than " + std::to_string(kMostPages) + " pages");
      const auto page = parse_live_name(name);
      const bool here = page && page->process.pid_namespace == self.pid_namespace;
      if (options.process && (!page || page->process.pid != *options.process)) return true;
      const auto remove = [&] {
        if (user == options.user) ::unlinkat(folder.get(), name, 0);
        return true;
      };
      if (page && !lives(page->process)) return remove();
      try {
        const auto view = read_live_page(folder, name, user);
        if (!view || view->finished) return true;
        if (!view->of_this_boot) return remove();
        WatchedLoader loader{.user = user, .view = *view, .program = "?", .here = here};
        if (here) describe(loader);
        watched.loaders.push_back(std::move(loader));
      } catch (const Error& error) {
        refuse((path / name).string(), error);
      }
      return true;
    };
    visit_names(folder, path, look_at);
  } catch (const Error& error) {
    refuse(path.string(), error);
  }
}

std::optional<uid_t> user_of(const std::string& folder) {
  if (!folder.starts_with(kFolder)) return std::nullopt;
  uid_t user = 0;
  const char* const end = folder.data() + folder.size();
  const auto [behind, error] = std::from_chars(folder.data() + kFolder.size(), end, user);
  return error == std::errc{} && behind == end ? std::optional(user) : std::nullopt;
}

}  // namespace

Watched watched_loaders(const WatchOptions& options) {
  Watched watched;
  std::error_code failed;
  const ProcessIdentity self = this_process();
  for (fs::directory_iterator entry(options.shared, failed), end; !failed && entry != end; entry.increment(failed)) {
    const auto user = user_of(entry->path().filename());
    if (user && (options.user == 0 || options.user == *user)) look_into(entry->path(), *user, options, self, watched);
  }
  if (failed && failed != std::errc::no_such_file_or_directory)
    watched.refused.push_back(options.shared.string() + ": " + failed.message());
  std::ranges::sort(watched.loaders, {}, [](const WatchedLoader& loader) {
    const LivePageName& page = loader.view.page;
    return std::tuple(loader.user, page.process.pid_namespace, page.process.pid, page.number);
  });
  std::ranges::sort(watched.refused);
  return watched;
}

std::string metrics_of(const Watched& watched) {
  std::vector<LabelledFigures> all;
  const std::chrono::nanoseconds now = std::chrono::steady_clock::now().time_since_epoch();
  for (const WatchedLoader& loader : watched.loaders) {
    const LivePageName& page = loader.view.page;
    const Figures& figures = loader.view.figures;
    all.push_back({.labels = {{"pid", std::to_string(page.process.pid)},
                              {"loader", std::to_string(page.number)},
                              {"program", loader.program},
                              {"rank", std::to_string(figures.rank)},
                              {"world", std::to_string(figures.world)}},
                   .figures = figures,
                   .waiting = std::max(std::chrono::nanoseconds(0), now - loader.view.waits_since.value_or(now))});
    if (!loader.here) all.back().labels.emplace_back("namespace", std::to_string(page.process.pid_namespace));
  }
  return openmetrics(all);
}

}  // namespace penstock
