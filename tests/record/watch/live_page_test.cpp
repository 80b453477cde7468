// Tests the page of shared memory that a loader shows its figures in: whole reads, refusals, and who may do what.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <thread>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <formats/io/ownership.hpp>
#include <penstock/error.hpp>
#include <penstock/loader.hpp>
#include <record/watch/live_page.hpp>
#include <record/watch/publisher.hpp>

#include "support/loading.hpp"
#include "support/processes.hpp"
#include "support/skip.hpp"
#include "support/temporary_folder.hpp"

namespace penstock::test::live_page_test {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

LivePage::Time at(std::chrono::nanoseconds time) {
  return LivePage::Time(time);
}

// All of them functions of one number, so that a reader knows a mixture of two.
Figures figures_from(std::uint64_t number) {
  Figures figures;
  figures.samples = number;
  figures.batches = number * 3;
  figures.wall = std::chrono::nanoseconds(number * 5);
  figures.stage_count = Figures::kStages;
  for (std::size_t i = 0; i < Figures::kStages; ++i)
    figures.stages[i] = {.kind = static_cast<StageKind>(number % 7),
                         .threads = number + i,
                         .busy = number * 7,
                         .input_wait = number * 11,
                         .room_wait = number * 13,
                         .data_wait = number * 17};
  figures.ready = number * 19;
  figures.bad_samples = number * 23;
  figures.binds = number % 13;
  figures.binds_stage = number % 2 == 0 ? Figures::kNoStage : number % 7;
  return figures;
}

std::optional<LiveView> read_in(const fs::path& folder, const std::string& name) {
  return read_live_page(open_private_folder(folder, ::geteuid()), name, ::geteuid());
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  return names;
}

void write_words(const fs::path& file, std::span<const std::uint64_t> words, std::size_t bytes = 4096) {
  std::string content(bytes, '\0');
  std::memcpy(content.data(), words.data(), std::min(bytes, words.size_bytes()));
  write_file(file, content);
}

struct MadeFolder {
  MadeFolder() { ::chmod(folder.path().c_str(), 0700); }
  TemporaryFolder folder;
};

}  // namespace

TEST_CASE("what is read is what was shown, with when, and since when next() waits") {
  const TemporaryFolder folder;
  const fs::path own = folder / "own";
  std::string name;
  {
    LivePage page(own);
    name = page.name();
    CHECK(fs::status(own).permissions() == fs::perms::owner_all);
    CHECK(fs::status(own / name).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
    CHECK_FALSE(read_in(own, name));  // nothing was shown yet
    page.show(figures_from(42), at(7s), at(8s));
    auto view = read_in(own, name);
    REQUIRE(view);
    CHECK(view->figures == figures_from(42));
    CHECK(view->shown == 7s);
    CHECK(view->next == 8s);
    CHECK_FALSE(view->waits_since);
    CHECK_FALSE(view->finished);
    CHECK(view->of_this_boot);
    CHECK(view->page.process == this_process());
    CHECK(lives(view->page.process));
    page.waits_since(at(9s));
    CHECK(read_in(own, name)->waits_since == 9s);
    page.waits_since({});
    CHECK_FALSE(read_in(own, name)->waits_since);
    const LivePage second(own);
    CHECK(second.name() != name);
  }
  CHECK(names_in(own).empty());
  CHECK_FALSE(read_in(own, name));
}

TEST_CASE("no reader in another process sees a mixture of two updates") {
  const TemporaryFolder folder;
  const fs::path own = folder / "own";
  LivePage page(own);
  page.show(figures_from(1), at(1ns), at(1ns));
  std::array<int, 2> over{};
  REQUIRE(::pipe(over.data()) == 0);
  const pid_t reader = ::fork();
  REQUIRE(reader >= 0);
  if (reader == 0) {
    ::close(over[0]);
    std::uint64_t last = 0, changes = 0;
    int failed = 0;
    try {
      while (changes < 2000 && failed == 0) {
        const auto view = read_in(own, page.name());
        if (!view) continue;
        const std::uint64_t number = view->figures.samples;
        if (view->figures != figures_from(number) || number < last || view->shown.count() != std::int64_t(number))
          failed = 2;
        changes += number != last ? 1 : 0;
        last = number;
      }
    } catch (...) {
      failed = 3;
    }
    ::_exit(failed);
  }
  ::close(over[1]);
  std::jthread writer([&](const std::stop_token& stop) {
    for (std::uint64_t number = 2; !stop.stop_requested(); ++number)
      page.show(figures_from(number), at(std::chrono::nanoseconds(number)), at(0ns));
  });
  char end = 0;
  CHECK(::read(over[0], &end, 1) == 0);  // the reader has ended
  int status = 1;
  ::waitpid(reader, &status, 0);
  writer.request_stop();
  ::close(over[0]);
  CHECK(status == 0);
}

TEST_CASE("a thread that reads beside the writer sees no mixture either") {
  const TemporaryFolder folder;
  LivePage page(folder / "own");
  page.show(figures_from(1), at(1ns), at(1ns));
  std::jthread writer([&](const std::stop_token& stop) {
    for (std::uint64_t number = 2; !stop.stop_requested(); ++number) page.show(figures_from(number), at(0ns), at(0ns));
  });
  std::uint64_t last = 0;
  for (int changes = 0; changes < 500;) {
    const auto view = read_in(folder / "own", page.name());
    if (!view) continue;
    const std::uint64_t number = view->figures.samples;
    REQUIRE(view->figures == figures_from(number));
    REQUIRE(number >= last);
    changes += number != last ? 1 : 0;
    last = number;
  }
}

TEST_CASE("a folder that is a link, another's, or open to others, gets no page") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "elsewhere");
  fs::create_symlink(folder / "elsewhere", folder / "link");
  CHECK_THROWS_WITH_AS(LivePage(folder / "link"), doctest::Contains("links not followed"), Error);
  fs::create_symlink(folder / "nothing", folder / "dangling");
  CHECK_THROWS_AS(LivePage(folder / "dangling"), Error);
  CHECK_FALSE(fs::exists(folder / "nothing"));
  write_file(folder / "file", "");
  CHECK_THROWS_AS(LivePage(folder / "file"), Error);
  for (const mode_t mode : {0777U, 0701U, 0750U, 0702U}) {
    CAPTURE(mode);
    ::chmod((folder / "elsewhere").c_str(), mode);
    CHECK_THROWS_WITH_AS(LivePage(folder / "elsewhere"), doctest::Contains("is open to other users (mode 7"), Error);
  }
  ::chmod((folder / "elsewhere").c_str(), 0700);
  CHECK_THROWS_WITH_AS(open_private_folder(folder / "elsewhere", ::geteuid() + 1), doctest::Contains("belongs to user"),
                       Error);
  CHECK(names_in(folder / "elsewhere").empty());
  CHECK_THROWS_AS(LivePage(folder.path() / "no" / "such"), Error);
}

TEST_CASE("another user can neither read a page nor make one in its folder") {
  if (::geteuid() != 0) return skip("only root can become another user; run as root");
  const TemporaryFolder folder;
  ::chmod(folder.path().c_str(), 0755);
  LivePage page(folder / "own");
  page.show(figures_from(1), at(1ns), at(1ns));
  check_in_processes(1, [&] {
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) return false;
    const auto refuses = [](const auto& action) {
      try {
        action();
      } catch (const Error&) {
        return true;
      }
      return false;
    };
    return refuses([&] { open_private_folder(folder / "own", 0); }) && refuses([&] { LivePage(folder / "own"); }) &&
           ::open((folder / "own" / page.name()).c_str(), O_RDONLY) < 0;
  });
}

TEST_CASE("the page of a killed process is removed by the next one that is made, others' stay") {
  const TemporaryFolder folder;
  const fs::path own = folder / "own";
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    new LivePage(own);
    ::raise(SIGKILL);
  }
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  REQUIRE(names_in(own).size() == 1);
  const auto dead = parse_live_name(names_in(own).front());
  REQUIRE(dead);
  CHECK(dead->process.pid == static_cast<std::uint64_t>(child));
  CHECK_FALSE(lives(dead->process));  // a zombie
  ::waitpid(child, nullptr, 0);
  CHECK_FALSE(lives(dead->process));
  ProcessIdentity later = this_process();  // which has the number of one that has ended
  later.start -= 1;
  CHECK_FALSE(lives(later));
  ProcessIdentity elsewhere = dead->process;
  elsewhere.pid_namespace += 1;
  CHECK(lives(elsewhere));
  const std::string of_container = live_name({.process = elsewhere, .number = 1});
  write_file(own / of_container, "");
  write_file(own / "notes.txt", "");
  const LivePage first(own);
  auto names = names_in(own);
  std::ranges::sort(names);
  std::vector<std::string> wanted{first.name(), of_container, "notes.txt"};
  std::ranges::sort(wanted);
  CHECK(names == wanted);
}

TEST_CASE("a child of fork() leaves its parent's page alone") {
  const TemporaryFolder folder;
  auto page = std::make_unique<LivePage>(folder / "own");
  page->show(figures_from(5), at(1ns), at(1ns));
  check_in_processes(2, [&] {
    page->show(figures_from(6), at(2ns), at(2ns));
    page->waits_since(at(3ns));
    page.reset();
    return true;
  });
  const auto view = read_in(folder / "own", page->name());
  REQUIRE(view);
  CHECK(view->figures == figures_from(5));
  CHECK_FALSE(view->waits_since);
  CHECK_FALSE(view->finished);
}

TEST_CASE("what is no page of this version is refused in words, whatever it is") {
  const MadeFolder made;
  const fs::path& folder = made.folder.path();
  const std::string name = live_name({.process = this_process(), .number = 77});
  const fs::path file = folder / name;
  const auto refused = [&](const char* words) {
    CHECK_THROWS_WITH_AS(read_in(folder, name), doctest::Contains(words), Error);
  };
  constexpr std::uint64_t kMagic = 0x6b636f74736e6570;
  const ProcessIdentity self = this_process();
  const std::uint64_t words = sizeof(Figures) / 8;
  CHECK_FALSE(read_in(folder, name));  // absent
  write_file(file, "");
  CHECK_FALSE(read_in(folder, name));  // being made
  write_file(file, "short");
  refused("has 5 bytes");
  write_file(file, std::string(4096, 'x'));
  refused("does not begin with the magic bytes of a page");
  write_words(file, std::array<std::uint64_t, 3>{kMagic, live_layout() + 1, words});
  refused("another version of penstock wrote it");
  write_words(file, std::array<std::uint64_t, 3>{kMagic, live_layout(), words + 1});
  refused("use that version's penstock top");
  write_words(file, std::array<std::uint64_t, 5>{kMagic, live_layout(), words, self.pid + 1, self.start});
  refused("another process");
  std::vector<std::uint64_t> page{kMagic, live_layout(), words, self.pid, self.start, 0, 0, 2, 1, 1, 0, 0};
  page.resize(12 + words);
  write_words(file, page);
  REQUIRE(read_in(folder, name));
  CHECK_FALSE(read_in(folder, name)->of_this_boot);
  page[7] = 3;  // a writer that was stopped amid an update
  write_words(file, page);
  CHECK_FALSE(read_in(folder, name));
  page[7] = 2;
  page[8] = ~std::uint64_t{0};
  write_words(file, page);
  refused("are impossible for a loader");
  fs::remove(file);
  fs::create_symlink("/etc/passwd", file);
  refused("cannot open it");
  fs::remove(file);
  REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
  refused("not a regular file of its user");
  fs::remove(file);
  fs::create_directory(file);
  refused("not a regular file of its user");
  for (const char* wrong : {"", "1", "1.2.3", "1.2.3.4.5", "1.02.3.4", "1.0.3.4", "a.b.c.d", "1.2.3.4 ", "1.-2.3.4",
                            "1.99999999999.3.4", "1..3.4", "../x"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_live_name(wrong));
  }
}

TEST_CASE("a page of garbage is refused or read, and never ends the reader") {
  const MadeFolder made;
  const std::string name = live_name({.process = this_process(), .number = 1});
  const ProcessIdentity self = this_process();
  std::mt19937_64 random(11);
  for (int i = 0; i < 300; ++i) {
    std::vector<std::uint64_t> page(512);
    for (std::uint64_t& word : page) word = random() >> (random() % 64);
    const std::array<std::uint64_t, 5> head{0x6b636f74736e6570, live_layout(), sizeof(Figures) / 8, self.pid,
                                            self.start};
    std::ranges::copy(std::span(head).first(i % 6 == 0 ? 3 : 5), page.begin());
    write_words(made.folder / name, page);
    try {
      if (const auto view = read_in(made.folder.path(), name)) CHECK(binds_text(view->figures).size() < 40);
    } catch (const Error& error) {
      CHECK(std::string(error.what()).find('\n') == std::string::npos);
    }
  }
}

TEST_CASE("a page that is cut short while it is mapped is refused") {
  const TemporaryFolder folder;
  LivePage page(folder / "own");
  page.show(figures_from(1), at(1ns), at(1ns));
  std::jthread reader([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      try {
        read_in(folder / "own", page.name());
      } catch (const Error&) {
      }
    }
  });
  const std::string name = (folder / "own" / page.name()).string();
  std::string content = read_file(name);
  for (int i = 0; i < 300; ++i) {
    REQUIRE(::truncate(name.c_str(), 0) == 0);
    REQUIRE(::truncate(name.c_str(), 4096) == 0);
    std::fstream(name, std::ios::in | std::ios::out | std::ios::binary) << content;
  }
}

TEST_CASE("memory that cannot be had is no page, and no loader fails of it") {
  if (::geteuid() != 0) return skip("only root can mount a small file system; run as root");
  const TemporaryFolder folder;
  const fs::path full = folder / "full";
  fs::create_directory(full);
  if (::mount("none", full.c_str(), "tmpfs", 0, "size=4096,mode=700") != 0)
    return skip("no tmpfs can be mounted here; allow mounting");
  write_file(full / "taken", std::string(4096, '.'));
  CHECK_THROWS_WITH_AS(LivePage(full / "own"), doctest::Contains("no memory for a page"), Error);
  CHECK((!fs::exists(full / "own") || names_in(full / "own").empty()));
  ::umount(full.c_str());
}

TEST_CASE("a loader whose user's folder is not its own runs without a page, and says so") {
  if (::geteuid() != 0) return skip("only root can become another user; run as root");
  constexpr uid_t kUser = 65533;
  const fs::path folder = live_folder(kUser);
  if (fs::exists(fs::symlink_status(folder)))
    return skip(folder.string() + " is in use; close the loaders of that user");
  const Arrays arrays(8);
  const TemporaryFolder victim;
  for (const fs::path& path : {arrays.folder.path(), victim.path()}) ::chmod(path.c_str(), 0777);
  const auto notes_are = [&](const std::string& words) {
    check_in_processes(1, [&] {
      if (::setgid(kUser) != 0 || ::setuid(kUser) != 0) return false;
      Loader loader(arrays.dataset(), {.batch_size = 4, .workers = 1});
      if (!loader.next()) return false;
      const std::string notes = loader.stats().notes;
      return words.empty() ? notes.empty() : notes.find(words) != std::string::npos;
    });
  };
  fs::create_directory_symlink(victim.path(), folder);
  notes_are("links not followed");
  fs::remove(folder);
  ::mkdir(folder.c_str(), 0700);
  ::chmod(folder.c_str(), 0755);
  notes_are("belongs to user 0, not to 65533");
  REQUIRE(::chown(folder.c_str(), kUser, kUser) == 0);
  ::chmod(folder.c_str(), 0777);
  notes_are("is open to other users (mode 777)");
  ::chmod(folder.c_str(), 0700);
  notes_are("");
  CHECK(fs::is_empty(folder));
  fs::remove_all(folder);
  CHECK(fs::is_empty(victim.path()));
}

TEST_CASE("a loader's page has the figures of its stats, and goes with it") {
  const Arrays arrays(64);
  const fs::path folder = live_folder(::geteuid());
  const auto own_pages = [&] {
    std::vector<std::string> own;
    if (!fs::exists(folder)) return own;
    for (const std::string& name : names_in(folder))
      if (const auto page = parse_live_name(name); page && page->process == this_process()) own.push_back(name);
    return own;
  };
  LoaderOptions options{.batch_size = 4, .workers = 1, .rank = 1, .world_size = 2, .on_error = OnError::mark};
  {
    Loader loader(arrays.dataset(), options);
    CHECK(own_pages().empty());  // until it is asked for a batch
    REQUIRE(loader.next());
    if (!loader.stats().notes.empty() && own_pages().empty())
      return skip("no live page: " + loader.stats().notes + "; let this user write there");
    REQUIRE(own_pages().size() == 1);
    const std::string name = own_pages().front();
    const auto first = read_in(folder, name);
    REQUIRE(first);
    CHECK(first->figures.rank == 1);
    CHECK(first->figures.world == 2);
    CHECK(first->figures.workers_now == 1);
    CHECK(first->figures.samples == 0);
    CHECK_FALSE(first->waits_since);
    // The next call that comes when the time is there shows what the stats have before it.
    Figures before;
    for (auto shown = first->shown; shown == first->shown; shown = read_in(folder, name)->shown) {
      before = figures_of(loader.stats());
      if (!loader.next()) loader.next();
    }
    const Figures figures = read_in(folder, name)->figures;
    CHECK(figures.samples == before.samples);
    CHECK(figures.batches == before.batches);
    CHECK(figures.stored_bytes == before.stored_bytes);
    CHECK(figures.bytes_delivered == before.bytes_delivered);
    CHECK(figures.data_wait == before.data_wait);
    CHECK(figures.wall == before.wall);
    CHECK(figures.slab_bytes == before.slab_bytes);
    CHECK(figures.memory() == before.memory());
    CHECK(figures.stage_count == before.stage_count);
    for (std::size_t i = 0; i < figures.stage_count; ++i) {
      CHECK(figures.stages[i].kind == before.stages[i].kind);
      CHECK(figures.stages[i].data_wait == before.stages[i].data_wait);
    }
  }
  CHECK(own_pages().empty());
  options.publish = false;
  Loader silent(arrays.dataset(), options);
  REQUIRE(silent.next());
  CHECK(own_pages().empty());
  ::setenv("PENSTOCK_PUBLISH", "0", 1);
  Loader told(arrays.dataset(), {.batch_size = 4});
  ::unsetenv("PENSTOCK_PUBLISH");
  CHECK_FALSE(told.options().publish);
}

}  // namespace penstock::test::live_page_test
