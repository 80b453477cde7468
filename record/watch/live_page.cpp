#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <fstream>
#include <new>
#include <sstream>
#include <type_traits>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <base/sigbus_guard.hpp>
#include <formats/io/boot_id.hpp>
#include <formats/io/folder_entries.hpp>
#include <formats/io/ownership.hpp>
#include <penstock/error.hpp>
#include <record/watch/live_page.hpp>

namespace penstock {
namespace {

constexpr std::size_t kFileBytes = 4096;
constexpr std::size_t kFigureWords = sizeof(Figures) / sizeof(std::uint64_t);
constexpr std::uint64_t kMagic = 0x6b636f7473'6e6570;  // "penstock" in memory
constexpr int kNumbers = 1 << 20;  // loaders of a process to try before the search for a free number ends
constexpr int kTries = 1000;       // attempts to read a page that is being written to
static_assert(std::is_trivially_copyable_v<Figures> && sizeof(Figures) % sizeof(std::uint64_t) == 0);
using FigureWords = std::array<std::uint64_t, kFigureWords>;

using Word = std::atomic<std::uint64_t>;
static_assert(Word::is_always_lock_free && sizeof(Word) == sizeof(std::uint64_t));

[[noreturn]] void fail(int number, const std::string& cause) {
  throw Error::io(number, cause);
}

// The fields of /proc/PID/stat from the third on. They follow the command, which may contain blanks and parentheses.
struct ProcessStat {
  char state = 0;
  std::uint64_t threads = 0, start = 0;
};
std::optional<ProcessStat> process_stat(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t behind = text.rfind(')');
  if (behind == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(behind + 1));
  ProcessStat stat;
  std::string skipped;
  fields >> stat.state;
  for (int field = 4; field < 20; ++field) fields >> skipped;
  fields >> stat.threads >> skipped >> stat.start;
  return fields ? std::optional(stat) : std::nullopt;
}

std::uint64_t pid_namespace() {
  struct stat found {};
  return ::stat("/proc/self/ns/pid", &found) == 0 ? found.st_ino : 0;
}

using BootId = std::array<std::uint64_t, 2>;

// Parses 00000000-0000-0000-0000-000000000000 into two numbers.
BootId boot_numbers() {
  std::string digits = boot_id();
  std::erase(digits, '-');
  BootId id{};
  if (digits.size() != 32) return id;
  std::from_chars(digits.data(), digits.data() + 16, id[0], 16);
  std::from_chars(digits.data() + 16, digits.data() + 32, id[1], 16);
  return id;
}

std::uint64_t nanoseconds_of(LivePage::Time time) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(time.time_since_epoch()).count());
}

void remove_dead_pages(const Descriptor& folder, const std::filesystem::path& path) {
  const auto remove_dead = [&](const char* name) {
    const auto page = parse_live_name(name);
    if (page && !lives(page->process)) ::unlinkat(folder.get(), name, 0);
    return true;
  };
  try {
    visit_names(folder, path, remove_dead);
  } catch (const Error&) {  // dead pages do no harm
  }
}

}  // namespace

/// The words of a page, in their order. A sequence lock protects those of Figures, which have one writer. Each word
/// is stored with release and loaded with acquire order. A reader that sees a new word therefore also sees the odd
/// sequence number that preceded it, and discards its copy.
struct LivePage::Words {
  Word magic, layout, figure_words, pid, start;
  std::array<Word, 2> boot;
  Word sequence, shown, next, waits_since, finished;
  std::array<Word, kFigureWords> figures;
};

ProcessIdentity this_process() {
  const auto stat = process_stat("self");
  if (!stat) throw Error::io(errno, "cannot read /proc/self/stat");
  return {.pid_namespace = pid_namespace(), .pid = static_cast<std::uint64_t>(::getpid()), .start = stat->start};
}

bool lives(const ProcessIdentity& process) {
  if (process.pid_namespace != pid_namespace()) return true;
  const auto stat = process_stat(std::to_string(process.pid));
  if (!stat) {
    // /proc may be mounted so that it hides processes of other users: signal 0 finds them
    return process.pid == 0 || (::kill(static_cast<pid_t>(process.pid), 0) != 0 && errno == EPERM);
  }
  const bool ended = (stat->state == 'Z' || stat->state == 'X') && stat->threads <= 1;
  return stat->start == process.start && !ended;
}

std::uint64_t live_layout() {
  std::uint64_t hash = 0xcbf29ce484222325 ^ kLiveLayout;
  for (const Counter& counter : counters())
    for (const std::string_view text : {counter.group, counter.name})
      for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

std::filesystem::path live_folder(uid_t user) {
  return "/dev/shm/penstock-" + std::to_string(user);
}

std::string live_name(const LivePageName& page) {
  return std::to_string(page.process.pid_namespace) + "." + std::to_string(page.process.pid) + "." +
         std::to_string(page.process.start) + "." + std::to_string(page.number);
}

std::optional<LivePageName> parse_live_name(std::string_view name) {
  LivePageName page;
  const std::array numbers{&page.process.pid_namespace, &page.process.pid, &page.process.start, &page.number};
  const char* at = name.data();
  const char* const end = name.data() + name.size();
  for (std::uint64_t* number : numbers) {
    if (number != numbers.front()) {
      if (at == end || *at != '.') return std::nullopt;
      ++at;
    }
    const auto [behind, error] = std::from_chars(at, end, *number);
    if (error != std::errc{}) return std::nullopt;
    at = behind;
  }
  constexpr std::uint64_t kMostPids = 1U << 30;
  if (at != end || page.process.pid == 0 || page.process.pid > kMostPids) return std::nullopt;
  return live_name(page) == name ? std::optional(page) : std::nullopt;
}

LivePage::LivePage(const std::filesystem::path& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) fail(errno, "cannot create " + folder.string());
  folder_ = open_private_folder(folder, ::geteuid());
  remove_dead_pages(folder_, folder);

  LivePageName page{.process = this_process(), .number = 0};
  Descriptor file;
  while (file.get() < 0) {
    page.number += 1;
    name_ = live_name(page);
    file = Descriptor(::openat(folder_.get(), name_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (file.get() < 0 && (errno != EEXIST || page.number == kNumbers))
      fail(errno, "cannot create a page in " + folder.string());
  }
  // ftruncate() would provide pages for which a full /dev/shm has no memory. Writing to one would raise SIGBUS.
  int refused = 0;
  while ((refused = ::posix_fallocate(file.get(), 0, kFileBytes)) == EINTR) {
  }
  void* memory = MAP_FAILED;
  if (refused == 0) {
    memory = ::mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    refused = memory == MAP_FAILED ? errno : 0;
  }
  if (refused == 0 && ::madvise(memory, kFileBytes, MADV_DONTFORK) != 0) {
    refused = errno;
    ::munmap(memory, kFileBytes);
  }
  if (refused != 0) {
    ::unlinkat(folder_.get(), name_.c_str(), 0);
    fail(refused, "no memory for a page in " + folder.string());
  }
  static_assert(sizeof(Words) <= kFileBytes);
  words_ = new (memory) Words{};
  pid_ = page.process.pid;
  const BootId boot = boot_numbers();
  words_->layout.store(live_layout(), std::memory_order_relaxed);
  words_->figure_words.store(kFigureWords, std::memory_order_relaxed);
  words_->pid.store(page.process.pid, std::memory_order_relaxed);
  words_->start.store(page.process.start, std::memory_order_relaxed);
  for (std::size_t i = 0; i < boot.size(); ++i) words_->boot[i].store(boot[i], std::memory_order_relaxed);
  words_->magic.store(kMagic, std::memory_order_release);  // last, because readers ignore a page without it
}

// A child of fork() owns neither the memory nor the file.
bool LivePage::ours() const noexcept {
  return pid_ == static_cast<std::uint64_t>(::getpid());
}

LivePage::~LivePage() {
  if (!ours()) return;
  words_->finished.store(1, std::memory_order_release);
  ::munmap(words_, kFileBytes);
  ::unlinkat(folder_.get(), name_.c_str(), 0);
}

void LivePage::show(const Figures& figures, Time now, Time next) noexcept {
  if (!ours()) return;
  const auto words = std::bit_cast<FigureWords>(figures);
  words_->sequence.store(++sequence_, std::memory_order_relaxed);
  words_->shown.store(nanoseconds_of(now), std::memory_order_release);
  words_->next.store(nanoseconds_of(next), std::memory_order_release);
  for (std::size_t i = 0; i < kFigureWords; ++i) words_->figures[i].store(words[i], std::memory_order_release);
  words_->sequence.store(++sequence_, std::memory_order_release);
}

void LivePage::waits_since(std::optional<Time> since) noexcept {
  if (!ours()) return;
  words_->waits_since.store(since ? nanoseconds_of(*since) : 0, std::memory_order_relaxed);
}

std::optional<LiveView> read_live_page(const Descriptor& folder, const std::string& name, uid_t user) {
  using Words = LivePage::Words;
  const auto page = parse_live_name(name);
  if (!page) throw Error::corrupt("its name is not the name of a page");
  const Descriptor file(::openat(folder.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.get() < 0) {
    if (errno == ENOENT) return std::nullopt;
    throw Error::io(errno, "cannot open it");
  }
  struct stat found {};
  if (::fstat(file.get(), &found) != 0) throw Error::io(errno, "cannot get its status");
  if (!S_ISREG(found.st_mode) || found.st_uid != user) throw Error::corrupt("it is not a regular file of its user");
  if (found.st_size == 0) return std::nullopt;  // being made
  if (found.st_size != static_cast<off_t>(kFileBytes))
    throw Error::corrupt("it has " + std::to_string(found.st_size) + " bytes instead of " + std::to_string(kFileBytes));
  const auto unmap = [](void* memory) { ::munmap(memory, kFileBytes); };
  void* const memory = ::mmap(nullptr, kFileBytes, PROT_READ, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) throw Error::io(errno, "cannot map it");
  const std::unique_ptr<void, decltype(unmap)> mapped(memory, unmap);
  const Words& words = *static_cast<const Words*>(memory);

  // The file's owner may truncate it at any time.
  guard_against_sigbus();
  std::uint64_t magic = 0, layout = 0, figure_words = 0, pid = 0, start = 0;
  BootId boot{};
  const auto relaxed = std::memory_order_relaxed, acquire = std::memory_order_acquire;
  const bool had_head = guarded([&] {
    magic = words.magic.load(acquire);
    layout = words.layout.load(relaxed);
    figure_words = words.figure_words.load(relaxed);
    pid = words.pid.load(relaxed);
    start = words.start.load(relaxed);
    for (std::size_t i = 0; i < boot.size(); ++i) boot[i] = words.boot[i].load(relaxed);
  });
  if (!had_head) throw Error::corrupt("it was truncated");
  if (magic == 0) return std::nullopt;  // being made
  if (magic != kMagic) throw Error::corrupt("it does not begin with the magic bytes of a page");
  if (layout != live_layout() || figure_words != kFigureWords)
    throw Error::unsupported("another version of penstock wrote it: use that version's penstock top");
  if (pid != page->process.pid || start != page->process.start)
    throw Error::corrupt("it names another process than the name of its file does");

  LiveView view;
  view.page = *page;
  view.of_this_boot = boot == boot_numbers();
  for (int i = 0; i < kTries; ++i) {
    std::uint64_t before = 0, after = 0, shown = 0, next = 0, waits = 0, finished = 0;
    FigureWords copied{};
    const bool had = guarded([&] {
      before = words.sequence.load(acquire);
      shown = words.shown.load(acquire);
      next = words.next.load(acquire);
      for (std::size_t k = 0; k < kFigureWords; ++k) copied[k] = words.figures[k].load(acquire);
      waits = words.waits_since.load(relaxed);
      finished = words.finished.load(acquire);
      after = words.sequence.load(relaxed);
    });
    if (!had) throw Error::corrupt("it was truncated");
    if (before == 0) return std::nullopt;  // no statistics have been written yet
    if (before != after || before % 2 != 0) continue;
    view.figures = std::bit_cast<Figures>(copied);
    constexpr std::uint64_t kMostTime = std::uint64_t{1} << 62;
    if (!make_sense(view.figures) || std::max({shown, next, waits}) > kMostTime)
      throw Error::corrupt("its statistics are impossible for a loader");
    view.shown = std::chrono::nanoseconds(shown);
    view.next = std::chrono::nanoseconds(next);
    if (waits != 0) view.waits_since = std::chrono::nanoseconds(waits);
    view.finished = finished != 0;
    return view;
  }
  return std::nullopt;
}

}  // namespace penstock
