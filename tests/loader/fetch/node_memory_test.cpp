// Tests caches of samples in memory that processes of a node share: who meets, who is killed, what is refused.
#include <algorithm>
#include <cerrno>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <base/memory.hpp>
#include <loader/fetch/sample_cache.hpp>
#include <loader/node_memory/meeting.hpp>
#include <loader/node_memory/node_memory.hpp>
#include <penstock/views.hpp>
#include <transforms/output.hpp>
#include <transforms/program/program.hpp>

#include "support/loading.hpp"
#include "support/members.hpp"
#include "support/picture_files.hpp"
#include "support/skip.hpp"

namespace penstock::test::node_memory_test {
namespace {

constexpr std::uint64_t kSamples = 40, kKept = 3 * kSamples;  // values: pixels, a label, an array for each
constexpr int kEpochs = 3;
constexpr std::chrono::milliseconds kShort{300};

// Each test has samples of its own, so that tests which run beside each other do not share.
Dataset pictures(const std::filesystem::path& folder) {
  for (std::uint32_t i = 0; i < kSamples; ++i) {
    const std::string key = number_key(i);
    write_file(folder / (key + ".jpg"), jpeg_picture(40 + i % 7, 44 + i % 5, i % 4 == 0 ? 1 : 3, i));
    write_file(folder / (key + ".cls"), std::to_string(i % 3));
    write_file(folder / (key + ".npy"), npy_file({1.0F, 2.0F, static_cast<float>(i)}, "(3,)"));
  }
  return open(folder);
}

LoaderOptions options_of(std::uint64_t seed, std::int64_t size = 24) {
  LoaderOptions options;
  options.batch_size = 7;
  options.shuffle = true;
  options.seed = seed;
  options.workers = 2;
  options.publish = false;
  options.transforms = {
      {"jpg", image::random_resized_crop(size) | image::random_horizontal_flip()}, {"cls", label()}, {"npy", {}}};
  return options;
}

LoaderOptions shared_options(std::uint64_t seed, CacheKind kind = CacheKind::decoded) {
  LoaderOptions options = options_of(seed);
  options.cache.kind = kind;
  options.cache.limit = 4 << 20;
  options.cache.shared = CacheScope::node;
  return options;
}

std::uint64_t epochs(Loader& loader, int count = kEpochs) {
  Digest digest;
  for (int epoch = 0; epoch < count; ++epoch)
    for (const std::uint64_t batch : batch_digests(loader)) digest.add(&batch, sizeof batch);
  return digest.value();
}

std::uint64_t epochs(const Dataset& dataset, const LoaderOptions& options, int count = kEpochs) {
  Loader loader(dataset, options);
  return epochs(loader, count);
}

std::uint64_t only_memory() {
  const std::vector<std::uint64_t> found = node_memories();
  return found.size() == 1 ? found.front() : 0;
}

/// A cache of values that tell whose they are, without a dataset.
struct Values {
  static constexpr std::uint64_t kCount = 40'000;

  Values(std::uint64_t limit, std::uint64_t name) : cache(CacheKind::encoded, limit, kCount, program(), origin(name)) {}

  static const Program& program() {
    static const std::vector<FieldSchema> fields{
        {.name = "x", .codec = "raw", .dtype = DType::u8, .shape = {}, .fixed = false}};
    static const std::vector<FieldChain> chains{{"x", raw()}};
    static const Program made(chains, {.fields = fields, .first_value = [](std::uint32_t, const Codec*) {
                                         return FirstBytes(std::vector<std::byte>(8));
                                       }});
    return made;
  }
  static Origin origin(std::uint64_t name) {
    Origin made;
    made.add("node_memory_test");
    made.add(name);
    return made;
  }
  static void write(std::uint64_t sample, std::vector<std::byte>& value) {
    value.resize(100 + sample * 37 % 1900);
    std::uint64_t number = sample * 0x9E3779B97F4A7C15;
    for (std::byte& byte : value) byte = static_cast<std::byte>((number = number * 6364136223846793005 + 1) >> 56);
  }

  void keep(std::uint64_t sample) {
    write(sample, scratch);
    cache.keep(sample, 0, {scratch, 0, 0, 0});
  }
  /// -1: absent; 0: another value; 1: the sample's.
  int found(std::uint64_t sample) {
    const auto value = cache.find(sample, 0);
    if (!value) return -1;
    write(sample, scratch);
    return std::ranges::equal(value->bytes, scratch) ? 1 : 0;
  }

  SampleCache cache;
  std::vector<std::byte> scratch;
};

std::uint64_t fresh_name() {
  return std::random_device()() * std::uint64_t{0x100000001} + static_cast<std::uint64_t>(::getpid());
}

/// The memory of this process's one cache, mapped once more, as a stray write of another member would reach it.
class Reached {
 public:
  explicit Reached(std::uint64_t inode) {
    for (int fd = 0; fd < 1024 && data_ == nullptr; ++fd) {
      struct stat status {};
      if (::fstat(fd, &status) != 0 || status.st_ino != inode || !S_ISREG(status.st_mode)) continue;
      size_ = static_cast<std::size_t>(status.st_size);
      data_ = static_cast<std::byte*>(::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    }
  }
  Reached(const Reached&) = delete;
  Reached& operator=(const Reached&) = delete;
  ~Reached() { ::munmap(data_, size_); }
  std::span<std::byte> all() const { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

std::atomic<std::uint64_t> provided_at_most{~std::uint64_t{0}};

int refuse_beyond(std::uint64_t, std::uint64_t end) {
  return end > provided_at_most ? ENOSPC : 0;
}

/// While it lives, the system provides so many bytes alone.
struct Refusal {
  explicit Refusal(std::uint64_t at_most) {
    provided_at_most = at_most;
    before_memory_is_provided = refuse_beyond;
  }
  ~Refusal() { before_memory_is_provided = nullptr; }
};

}  // namespace

TEST_CASE("processes of a node keep each sample once, and their batches are those without a cache") {
  for (const std::size_t ranks : {2U, 8U}) {
    for (const CacheKind kind : {CacheKind::encoded, CacheKind::decoded}) {
      CAPTURE(ranks);
      const TemporaryFolder folder;
      const Dataset dataset = pictures(folder / "data");
      std::vector<std::uint64_t> expected;
      for (std::size_t i = 0; i < ranks; ++i) expected.push_back(epochs(dataset, options_of(i)));
      Members members;
      for (std::size_t i = 0; i < ranks; ++i) {
        members.start([&](Slate& slate, std::size_t number) {
          const std::string path = (folder / "data").string();
          Loader loader(open(path), shared_options(number, kind));
          slate.meet(ranks);  // none leaves before all have come
          const bool equal = epochs(loader) == expected[number];
          slate.meet(2 * ranks);  // all are idle
          const Stats stats = loader.stats();
          slate.notes[number][0] = stats.cache.members;
          slate.notes[number][1] = stats.cache.values;
          slate.notes[number][2] = stats.cache.hits_of_others;
          slate.notes[number][3] = stats.cache.hits;
          slate.notes[number][4] = only_memory();
          slate.notes[number][5] = stats.cache.used;
          slate.meet(3 * ranks);
          return equal && stats.notes.empty();
        });
      }
      std::uint64_t of_others = 0;
      for (std::size_t i = 0; i < ranks; ++i) CHECK(members.ended_well(i));
      for (std::size_t i = 0; i < ranks; ++i) {
        const auto& notes = members.slate().notes[i];
        CHECK(notes[0] == ranks);
        CHECK(notes[1] == kKept);
        CHECK(notes[2] <= notes[3]);
        CHECK(notes[4] == members.slate().notes[0][4].load());
        CHECK(notes[5] == members.slate().notes[0][5].load());
        of_others += notes[2];
      }
      CHECK(members.slate().notes[0][4] != 0);
      CHECK(of_others >= (ranks - 1) * kKept);  // of each value, all but the one who kept it met it at least once
      CHECK(holders(members.slate().notes[0][4]) == 0);
    }
  }
}

TEST_CASE("a loader that comes later finds what others keep, as long as one of them lives") {
  const TemporaryFolder folder;
  const Dataset dataset = pictures(folder / "data");
  const std::uint64_t expected = epochs(dataset, options_of(3));
  auto first = std::make_unique<Loader>(dataset, shared_options(1));
  epochs(*first, 2);
  auto second = std::make_unique<Loader>(dataset, shared_options(3));
  CHECK(second->stats().cache.values == kKept);
  CHECK(second->stats().cache.members == 2);
  CHECK(only_memory() == 0);  // two descriptors
  first.reset();
  CHECK(second->stats().cache.members == 1);
  const std::uint64_t inode = only_memory();
  CHECK(inode != 0);
  CHECK(epochs(*second) == expected);
  const Stats stats = second->stats();
  CHECK(stats.cache.misses == 0);
  CHECK(stats.cache.hits_of_others == stats.cache.hits);
  CHECK(stats.bytes_read == 0);
  std::ostringstream table;
  table << stats;
  CHECK_MESSAGE(table.str().find("decoded, shared by 1 loaders of the node") != std::string::npos, table.str());
  CHECK(table.str().find("other loaders cached") != std::string::npos);
  second.reset();
  CHECK(holders(inode) == 0);
  Loader third(dataset, shared_options(3));
  CHECK(third.stats().cache.values < kKept);  // the workers may have begun
  CHECK(third.stats().cache.hits_of_others == 0);
}

TEST_CASE("who reads otherwise, or another thing, has another cache") {
  const TemporaryFolder folder;
  const Dataset dataset = pictures(folder / "data"), other = pictures(folder / "other");
  const Loader first(dataset, shared_options(1));
  const auto members = [&](const Dataset& read, const LoaderOptions& options) {
    return Loader(read, options).stats().cache.members;
  };
  CHECK(members(dataset, shared_options(2)) == 2);
  CHECK(members(other, shared_options(1)) == 1);
  LoaderOptions options = shared_options(1);
  options.transforms = options_of(1, 20).transforms;
  CHECK(members(dataset, options) == 1);
  options = shared_options(1);
  options.cache.limit += 1 << 20;
  CHECK(members(dataset, options) == 1);
  CHECK(members(dataset, shared_options(1, CacheKind::encoded)) == 1);
  options = shared_options(1);
  options.cache.shared = CacheScope::process;
  CHECK(members(dataset, options) == 0);
  // Views that choose others, and the same ones once more.
  const Loader chosen(take(dataset, 30), shared_options(1));
  CHECK(members(take(dataset, 30), shared_options(1)) == 2);
  CHECK(members(take(dataset, 29), shared_options(1)) == 1);
  CHECK(members(take(penstock::skip(dataset, 1), 30), shared_options(1)) == 1);
  // The same files, one written to since.
  write_file(folder / "data" / (number_key(3) + ".cls"), "2");
  CHECK(members(open(folder / "data"), shared_options(1)) == 1);
}

TEST_CASE("who is killed takes nothing along but what it was writing") {
  constexpr int kKills = 100;
  constexpr std::size_t kAtOnce = 4;
  const std::uint64_t name = fresh_name();
  std::mt19937 random(20240611);
  Members members;
  const auto start = [&] {
    return members.start([&, seed = random()](Slate& slate, std::size_t number) {
      Values values(std::uint64_t{80} << 20, name);
      if (const std::string note = values.cache.note(); !note.empty()) throw Error::resource(note);
      slate.notes[number][0] = only_memory();  // it has come
      std::mt19937 samples(seed);
      while (slate.stop == 0) {
        const std::uint64_t sample = samples() % Values::kCount;
        if (values.cache.wants(sample, 0)) values.keep(sample);
        if (values.found(samples() % Values::kCount) == 0) return false;
      }
      return values.cache.note().empty();
    });
  };
  std::vector<std::size_t> living;
  const auto has_come = [&](std::size_t number) {
    return comes([&] { return members.slate().notes[number][0] != 0 || members.slate().failed != 0; });
  };
  for (std::size_t i = 0; i < kAtOnce; ++i) living.push_back(start());
  for (const std::size_t number : living) REQUIRE(has_come(number));
  const std::uint64_t inode = members.slate().notes[living[0]][0];
  for (int kill = 0; kill < kKills; ++kill) {
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 10'000));
    const std::size_t victims = 1 + random() % (kAtOnce - 1);  // at times all but one
    std::ranges::shuffle(living, random);
    for (std::size_t i = 0; i < victims; ++i, living.pop_back()) members.kill(living.back());
    while (living.size() < kAtOnce) living.push_back(start());
    for (const std::size_t number : living) REQUIRE(has_come(number));
    for (const std::size_t number : living) REQUIRE(members.slate().notes[number][0] == inode);
  }
  // One more, who sees what all of them left.
  const std::size_t last = members.start([&](Slate& slate, std::size_t number) {
    Values values(std::uint64_t{80} << 20, name);
    slate.notes[number][0] = only_memory();
    slate.notes[number][2] = values.cache.stats().members;
    slate.stop = 1;
    bool good = true;
    for (std::uint64_t sample = 0; sample < Values::kCount; ++sample) good = good && values.found(sample) != 0;
    // Nobody's claim is left: what is absent can be kept.
    for (std::uint64_t sample = 0; sample < Values::kCount; ++sample) {
      if (values.found(sample) == -1) values.keep(sample);
      slate.notes[number][1] += values.found(sample) == 1 ? 1U : 0U;
    }
    slate.notes[number][3] = values.cache.stats().used;
    return good;
  });
  CHECK(members.ended_well(last));
  for (const std::size_t number : living) CHECK(members.ended_well(number));
  const auto& notes = members.slate().notes[last];
  CHECK(notes[0] == inode);
  CHECK(notes[1] == Values::kCount);
  CHECK(notes[2] == kAtOnce + 1);
  // What is lost: of each kill the value that was being copied.
  std::uint64_t kept = 16;
  for (std::uint64_t sample = 0; sample < Values::kCount; ++sample)
    kept += 32 + rounded_up(100 + sample * 37 % 1900, 16);
  CHECK(notes[3] >= kept);
  CHECK(notes[3] <= kept + std::uint64_t{3 * kKills} * (32 + 2000));
  CHECK(members.slate().failed == 0);
  CHECK(holders(inode) == 0);
}

TEST_CASE("loaders that are killed in the middle of an epoch leave right batches to the others") {
  const TemporaryFolder folder;
  const Dataset dataset = pictures(folder / "data");
  const std::uint64_t expected = epochs(dataset, options_of(5), 1);
  std::mt19937 random(7);
  Members members;
  const auto start = [&] {
    return members.start([&](Slate& slate, std::size_t number) {
      while (slate.stop == 0) {  // each loader begins with epoch 0
        Loader loader(dataset, shared_options(5));
        slate.notes[number][0] = 1;
        if (epochs(loader, 1) != expected || !loader.stats().notes.empty()) return false;
      }
      return true;
    });
  };
  std::size_t stays = start();
  for (int kill = 0; kill < 20; ++kill) {
    const std::size_t number = start();
    REQUIRE(comes([&] { return members.slate().notes[number][0] != 0 || members.slate().failed != 0; }));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
    members.kill(number);
  }
  members.slate().stop = 1;
  CHECK(members.ended_well(stays));
  CHECK(members.slate().failed == 0);
}

TEST_CASE("all members together keep to one limit") {
  const std::uint64_t name = fresh_name(), limit = 3'000'000;
  Members members;
  for (int i = 0; i < 3; ++i) {
    members.start([&](Slate& slate, std::size_t number) {
      Values values(limit, name);
      slate.meet(3);
      for (std::uint64_t at = 0; at < Values::kCount; ++at) values.keep((at + number * 13'000) % Values::kCount);
      slate.meet(6);
      struct stat status {};
      for (int fd = 0; fd < 64; ++fd) {
        if (::fstat(fd, &status) == 0 && status.st_ino == only_memory()) break;
      }
      const CacheStats stats = values.cache.stats();
      std::uint64_t found = 0;
      for (std::uint64_t sample = 0; sample < Values::kCount; ++sample) found += values.found(sample) == 1 ? 1U : 0U;
      slate.meet(9);
      return stats.used <= limit && stats.reserved <= limit && stats.used > limit - 400'000 - 8 * Values::kCount &&
             static_cast<std::uint64_t>(status.st_blocks) * 512 <= limit && status.st_blocks > 0 &&
             found == stats.values && values.cache.note().empty();
    });
  }
  for (std::size_t i = 0; i < 3; ++i) CHECK(members.ended_well(i));
}

TEST_CASE("memory that is refused ends the keeping, or the sharing, and the stats say so") {
  const TemporaryFolder folder;
  const Dataset dataset = pictures(folder / "data");
  const std::uint64_t expected = epochs(dataset, options_of(2));
  {
    const Refusal refusal(64 << 10);
    Loader loader(dataset, shared_options(2));
    CHECK(epochs(loader) == expected);
    const Stats stats = loader.stats();
    CHECK(stats.cache.members == 1);
    CHECK(stats.cache.values < kKept);
    CHECK_MESSAGE(stats.notes.find("the system refuses memory for the sample cache (No space left on device)") !=
                      std::string::npos,
                  stats.notes);
  }
  {
    const Refusal refusal(0);
    Loader loader(dataset, shared_options(2));
    CHECK(epochs(loader) == expected);
    const Stats stats = loader.stats();
    CHECK(stats.cache.members == 0);
    CHECK(stats.cache.values == kKept);
    CHECK_MESSAGE(stats.notes.find("its own cache") != std::string::npos, stats.notes);
    CHECK(stats.notes.find("No space left on device") != std::string::npos);
  }
  // What was refused to one is provided to others, and serves both.
  Values first(std::uint64_t{80} << 20, 77);
  {
    const Refusal refusal(1);
    for (std::uint64_t sample = 0; sample < 100; ++sample) first.keep(sample);
  }
  CHECK(first.cache.stats().values == 0);
  CHECK_FALSE(first.cache.wants(1, 0));
  Values second(std::uint64_t{80} << 20, 77);
  for (std::uint64_t sample = 0; sample < 100; ++sample) second.keep(sample);
  for (std::uint64_t sample = 0; sample < 100; ++sample) CHECK(first.found(sample) == 1);
}

TEST_CASE("a name that others have is not believed") {
  Members members;
  const MemoryKey key{fresh_name(), fresh_name()};
  const std::string name = NodeMemory::meeting_name(key);
  const auto squat = [&](const std::string& squatted, bool other_user) {
    const std::uint64_t arrived = members.slate().arrived;
    const std::size_t number = members.start([=](Slate& slate, std::size_t) {
      if (other_user && ::setresuid(65534, 65534, 65534) != 0) return false;
      const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET, 0);
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      squatted.copy(address.sun_path + 1, squatted.size());
      const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + squatted.size());
      if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), length) != 0 || ::listen(socket, 5) != 0)
        return false;
      ++slate.arrived;
      while (slate.stop == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return true;
    });
    if (!comes([&, arrived] { return members.slate().arrived > arrived || members.slate().failed != 0; }))
      FAIL("nobody squats");
    return number;
  };

  // This user's own, who does not answer: a process that was stopped.
  const std::size_t silent = squat(name + "-turn", false);
  CHECK_THROWS_WITH_AS(NodeMemory(key, 1 << 20, 10, kShort), doctest::Contains("does not finish"), Error);
  members.kill(silent);
  CHECK(NodeMemory(key, 1 << 20, 10, kShort).members() == 1);
  const std::size_t mute = squat(name + "-5", false);
  CHECK_THROWS_WITH_AS(NodeMemory(key, 1 << 20, 10, kShort), doctest::Contains("do not answer"), Error);
  members.kill(mute);

  if (::geteuid() != 0) return skip("only root can become another user; run as root");
  const std::size_t stranger = squat(name + "-turn", true);
  CHECK_THROWS_WITH_AS(NodeMemory(key, 1 << 20, 10, kShort), doctest::Contains("a process of another user"), Error);
  members.kill(stranger);
  // A stranger's place is passed over: we go on in the next.
  const std::size_t passed_over = squat(name + "-0", true);
  NodeMemory first(key, 1 << 20, 10, kShort);
  NodeMemory second(key, 1 << 20, 10, kShort);
  CHECK(first.members() == 2);
  CHECK(second.number() != first.number());
  CHECK(first.is_member(second.number()));
  members.kill(passed_over);
  // A stranger who asks gets nothing.
  const std::size_t asking = members.start([&](Slate&, std::size_t) {
    if (::setresuid(65534, 65534, 65534) != 0) return false;
    return !Meeting(name, kShort).ask();
  });
  CHECK(members.ended_well(asking));
}

TEST_CASE("garbage in the memory is not delivered") {
  const TemporaryFolder folder;
  const Dataset dataset = pictures(folder / "data");
  const std::uint64_t expected = epochs(dataset, options_of(4), 2);
  std::mt19937_64 random(11);
  const std::uint64_t values_at = (4096 + 8 * kKept + 4095) / 4096 * 4096;
  const auto spoilt = [&](const auto& spoil) {
    Loader first(dataset, shared_options(1));
    epochs(first, 1);
    const std::uint64_t used = first.stats().cache.used;
    Reached memory(only_memory());
    spoil(memory.all(), used);
    Loader second(dataset, shared_options(4));
    CHECK(epochs(second, 2) == expected);
    const Stats stats = second.stats();
    return stats.notes;
  };
  for (int round = 0; round < 5; ++round) {
    CAPTURE(round);
    const std::string values = spoilt([&](std::span<std::byte> all, std::uint64_t used) {
      for (int i = 0; i < 200; ++i) all[values_at + random() % used] ^= static_cast<std::byte>(1 + random() % 255);
    });
    CHECK_MESSAGE(values.find("in the sample cache were damaged") != std::string::npos, values);
    spoilt([&](std::span<std::byte> all, std::uint64_t) {  // the table, and some of the header
      for (std::uint64_t at = 2112; at < values_at; ++at)
        if (random() % 3 == 0) all[at] = static_cast<std::byte>(random());
    });
    spoilt([&](std::span<std::byte> all, std::uint64_t used) {  // places that lie inside, of others' values
      auto* table = reinterpret_cast<std::uint64_t*>(all.data() + 2176);
      for (std::uint64_t i = 0; i < kKept; ++i) table[i] = random() % used / 16 * 16;
    });
  }
  const std::string header =
      spoilt([&](std::span<std::byte> all, std::uint64_t) { std::ranges::fill(all.first(64), std::byte{0x5A}); });
  CHECK_MESSAGE(header.find("damaged") != std::string::npos, header);
  spoilt([&](std::span<std::byte> all, std::uint64_t) {  // sums, and what is provided
    std::ranges::fill(all.subspan(64, 24), std::byte{0xFF});
  });
}

TEST_CASE("a child that a member forks has no part in its memory, and may have one of its own") {
#ifdef __SANITIZE_THREAD__
  return skip("a program with threads cannot fork under this sanitizer; use the preset dev");
#endif
  const TemporaryFolder folder;
  const Dataset dataset = pictures(folder / "data");
  const std::uint64_t expected = epochs(dataset, options_of(6));
  Members members;
  const std::size_t parent = members.start([&](Slate& slate, std::size_t) {
    Loader loader(dataset, shared_options(6));
    const std::uint64_t inode = only_memory();
    epochs(loader, 1);
    const pid_t child = ::fork();
    if (child == 0) {
      bool good = !holds_memory("self", inode);
      Loader own(dataset, shared_options(6));
      good = good && only_memory() == inode && own.stats().cache.members == 2 && epochs(own) == expected &&
             own.stats().cache.misses == 0;
      ::_exit(good ? 0 : 1);
    }
    int status = 1;
    ::waitpid(child, &status, 0);
    const pid_t stays = ::fork();  // and lives on behind its parent
    if (stays == 0) {
      while (slate.stop == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ::_exit(0);
    }
    loader.set_epoch(0);
    slate.notes[0][0] = inode;
    return status == 0 && inode != 0 && epochs(loader) == expected && loader.stats().cache.members == 1;
  });
  CHECK(members.ended_well(parent));
  CHECK(holders(members.slate().notes[0][0]) == 0);
  Loader next(dataset, shared_options(6));  // asks nobody
  CHECK(next.stats().cache.members == 1);
  CHECK(next.stats().notes.empty());
  members.slate().stop = 1;
}

}  // namespace penstock::test::node_memory_test
