// Tests loaders that share batches: the same bytes, one build, and what happens when one of them ends, stalls or comes
// late. A plain loader with the same options is the reference.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <loader/node_memory/local_socket.hpp>
#include <loader/sharing/link.hpp>
#include <penstock/image.hpp>
#include <penstock/loader.hpp>

#include "support/mixed_data.hpp"
#include "support/thread_count.hpp"

namespace penstock::test::shared_batches_test {
namespace {

using std::chrono::milliseconds;

std::string name_of(const char* test) {
  return std::string("test-") + test + "-" + std::to_string(::getpid());
}

LoaderOptions shared(const std::string& name, unsigned consumers = 1) {
  LoaderOptions options = mixed_options();
  options.sharing.name = name;
  options.sharing.consumers = consumers;
  options.sharing.lag = 3;
  return options;
}

std::uint64_t digest_of(const Batch& batch) {
  Digest digest;
  digest.add(batch);
  return digest.value();
}

// A process that loads: it writes one digest for each batch, and stops before a batch when told to.
struct Process {
  Process(const MixedData& data, const LoaderOptions& options, int count, std::optional<std::size_t> dies_at = {},
          milliseconds step = milliseconds(0)) {
    REQUIRE(::pipe(pipe) == 0);
    child = ::fork();
    REQUIRE(child >= 0);
    if (child != 0) {
      ::close(pipe[1]);
      return;
    }
    ::close(pipe[0]);
    int failed = 1;
    try {
      Loader loader(data.dataset(), options);
      loader.set_epoch(0);  // a process that is late would begin where the others are
      std::size_t number = 0;
      for (int epoch = 0; epoch < count; ++epoch) {
        while (const auto batch = loader.next()) {
          if (dies_at == number++) ::kill(::getpid(), SIGKILL);
          std::this_thread::sleep_for(step);
          const std::uint64_t digest = digest_of(*batch);
          if (::write(pipe[1], &digest, sizeof digest) != sizeof digest) ::_exit(3);
        }
      }
      const std::uint64_t own = loader.stats().sharing.built_alone + loader.stats().sharing.built_for_all;
      failed = ::write(pipe[1], &own, sizeof own) == sizeof own ? 0 : 4;
    } catch (const std::exception& error) {
      static_cast<void>(!::write(2, error.what(), std::strlen(error.what())));
    }
    ::_exit(failed);
  }
  ~Process() {
    if (child <= 0) return;
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(pipe[0]);
  }
  Process(Process&&) = delete;

  // The digests; the last number is how many batches the process built.
  std::vector<std::uint64_t> digests() {
    std::vector<std::uint64_t> all;
    std::uint64_t digest = 0;
    while (::read(pipe[0], &digest, sizeof digest) == sizeof digest) all.push_back(digest);
    REQUIRE(::waitpid(child, &status, 0) == child);
    child = 0;
    ::close(pipe[0]);
    if (status == 0) {
      REQUIRE(!all.empty());
      built = all.back();
      all.pop_back();
    }
    return all;
  }

  int pipe[2] = {-1, -1};
  pid_t child = 0;
  int status = 0;
  std::uint64_t built = 0;
};

}  // namespace

TEST_CASE("loaders of one process that share batches get the bytes of a plain loader, and each batch is built once") {
  const MixedData data(30);
  const auto wanted = expected(data, 3);
  std::vector<Loader> loaders;
  for (int i = 0; i < 4; ++i) loaders.emplace_back(data.dataset(), shared(name_of("threads"), 4));
  std::vector<std::vector<std::uint64_t>> got(loaders.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < loaders.size(); ++i) threads.emplace_back([&, i] { got[i] = epochs(loaders[i], 3); });
  }
  std::uint64_t built = 0, alone = 0, received = 0;
  for (std::size_t i = 0; i < loaders.size(); ++i) {
    CHECK(got[i] == wanted);
    const SharingStats sharing = loaders[i].stats().sharing;
    built += sharing.built_for_all;
    alone += sharing.built_alone;
    received += sharing.received;
  }
  CHECK(alone == 0);
  CHECK(built >= wanted.size());
  CHECK(built <= wanted.size() + 3 + 3);  // in the window, and in the queues of the consumers
  CHECK(received >= 4 * wanted.size());
}

TEST_CASE("share() makes loaders at the position of a loader") {
  const MixedData data(30);
  const auto wanted = expected(data, 1);
  Loader loader(data.dataset(), mixed_options());
  CHECK(loader.next().has_value());
  std::vector<Loader> loaders = loader.share(3);
  std::vector<std::vector<std::uint64_t>> got(loaders.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < loaders.size(); ++i)
      threads.emplace_back([&, i] { got[i] = batch_digests(loaders[i]); });
  }
  for (std::size_t i = 0; i < loaders.size(); ++i) {
    CHECK(got[i] == std::vector(wanted.begin() + 1, wanted.end()));
    CHECK(loaders[i].stats().sharing.built_alone == 0);
  }
  CHECK_THROWS_WITH_AS(static_cast<void>(loader.share(0)), doctest::Contains("1 consumer or more"), Error);
}

TEST_CASE("processes share batches, and one of them builds") {
  const MixedData data(30);
  const auto wanted = expected(data, 3);
  std::vector<std::unique_ptr<Process>> processes;
  for (int i = 0; i < 3; ++i) processes.push_back(std::make_unique<Process>(data, shared(name_of("processes"), 3), 3));
  int builders = 0;
  for (const auto& process : processes) {
    CHECK(process->digests() == wanted);
    CHECK(process->status == 0);
    builders += process->built > 3 ? 1 : 0;
  }
  CHECK(builders <= 2);  // the first may end before the others are done
}

TEST_CASE("if the process that builds is killed, another one takes over, and no byte changes") {
  const MixedData data(30);
  const auto wanted = expected(data, 3);
  const std::string name = name_of("takeover");
  Process first(data, shared(name, 3), 3, 9);
  std::this_thread::sleep_for(milliseconds(100));  // so that this one builds
  Process second(data, shared(name, 3), 3), third(data, shared(name, 3), 3);
  const auto died = first.digests();
  CHECK(WIFSIGNALED(first.status));
  CHECK(died == std::vector(wanted.begin(), wanted.begin() + 9));
  CHECK(second.digests() == wanted);
  CHECK(third.digests() == wanted);
}

TEST_CASE("a killed or stalled consumer stops nobody") {
  const MixedData data(30);
  const auto wanted = expected(data, 3);
  const std::string name = name_of("stalled");
  LoaderOptions options = shared(name, 3);
  options.sharing.patience = 0.3;
  Process goes_on(data, options, 3), dies(data, options, 3, 2);
  Process stalls(data, options, 3, {}, milliseconds(20));
  std::this_thread::sleep_for(milliseconds(200));
  ::kill(stalls.child, SIGSTOP);
  CHECK(goes_on.digests() == wanted);
  CHECK(goes_on.status == 0);
  ::kill(stalls.child, SIGCONT);
  CHECK(stalls.digests() == wanted);
  CHECK(stalls.status == 0);
  dies.digests();
  CHECK(WIFSIGNALED(dies.status));
}

TEST_CASE("if the process that builds is stopped, the others continue") {
  const MixedData data(30);
  const auto wanted = expected(data, 3);
  LoaderOptions options = shared(name_of("stopped"));
  options.sharing.patience = 0.2;
  Process builds(data, options, 3, {}, milliseconds(20));
  std::this_thread::sleep_for(milliseconds(100));
  ::kill(builds.child, SIGSTOP);
  Process other(data, options, 3);
  CHECK(other.digests() == wanted);
  CHECK(other.status == 0);
  ::kill(builds.child, SIGCONT);
  CHECK(builds.digests() == wanted);
}

TEST_CASE("destroying a loader ends its threads, also while it joins a process that does not answer") {
  const MixedData data(12);
  const std::string name = name_of("silent");
  const auto threads = thread_count();
  {
    // A process that has the name, welcomes a loader, ends the connection, and is silent from then on.
    const UnforkedDescriptor listens = listening(sharing::socket_name(name), SOCK_STREAM);
    REQUIRE(listens);
    std::jthread welcomes([&] {
      Guest guest;
      while (!(guest = next_guest(listens.get())).socket) std::this_thread::sleep_for(milliseconds(1));
      sharing::Connection connection(std::move(guest.socket));
      while (connection.receive() && !connection.next()) std::this_thread::sleep_for(milliseconds(1));
      sharing::WireWriter to;
      to.number(0);
      connection.send({.kind = sharing::Kind::welcome, .body = to.take()});
    });
    const Loader loader(data.dataset(), shared(name));
    welcomes.join();
    std::this_thread::sleep_for(milliseconds(100));  // it joins again
  }
  for (int i = 0; i < 100 && thread_count() > threads; ++i)  // the system's list of them is a little late
    std::this_thread::sleep_for(milliseconds(10));
  CHECK(thread_count() == threads);
}

TEST_CASE("a loader that comes before another one has taken a batch begins with the first") {
  const MixedData data(30);
  const std::string name = name_of("second");
  Loader first(data.dataset(), shared(name));
  std::this_thread::sleep_for(milliseconds(50));  // it works ahead
  Loader second(data.dataset(), shared(name));
  CHECK(second.state().batch == 0);
  CHECK(digest_of(second.next().value()) == digest_of(first.next().value()));
}

TEST_CASE("a loader that comes late begins where the others are, and knows its position") {
  const MixedData data(30);
  const auto wanted = expected(data, 2);
  const std::string name = name_of("late");
  Loader first(data.dataset(), shared(name));
  for (int i = 0; i < 5; ++i) CHECK(digest_of(first.next().value()) == wanted[static_cast<std::size_t>(i)]);
  Loader late(data.dataset(), shared(name));
  const std::uint64_t begins = late.state().batch;
  CHECK(begins >= 2);  // the hub may not know yet that the last ones were returned
  CHECK(begins <= 5);
  CHECK(digest_of(late.next().value()) == wanted[begins]);
  CHECK(late.state().batch == begins + 1);
  CHECK(late.stats().sharing.built_alone == 0);
}

TEST_CASE("a loader restores any position, and builds alone what the others do not need") {
  const MixedData data(30);
  const auto wanted = expected(data, 2);
  const std::string name = name_of("restored");
  LoaderOptions options = shared(name);
  options.sharing.patience = 0.2;
  Loader saved(data.dataset(), mixed_options());
  CHECK(saved.next().has_value());
  const LoaderState state = saved.state();
  Loader first(data.dataset(), options);
  for (int i = 0; i < 6; ++i) first.next();
  Loader other(data.dataset(), options);
  other.restore(state);
  CHECK(digest_of(other.next().value()) == wanted[1]);
  CHECK(other.stats().sharing.built_alone > 0);
  other.set_epoch(1);
  CHECK(digest_of(other.next().value()) == wanted[8]);
  CHECK(digest_of(first.next().value()) == wanted[6]);
}

TEST_CASE("what one loader writes into a batch no other one sees, nor does its own next batch in that memory") {
  constexpr int kEpochs = 40;  // more batches than the memory that they share
  const MixedData data(12);
  const auto wanted = expected(data, kEpochs);
  const std::string name = name_of("written");
  std::vector<std::uint64_t> seen, got;
  {
    LoaderOptions writes = shared(name, 2);
    writes.batch_transform = [&](Batch& batch) {
      seen.push_back(digest_of(batch));
      for (const Field& field : batch.fields()) std::memset(field.values.data, 0x5a, field.values.bytes());
    };
    Loader first(data.dataset(), writes);
    Loader second(data.dataset(), shared(name, 2));
    for (int epoch = 0; epoch < kEpochs; ++epoch) {
      while (const auto batch = first.next()) {
        CHECK((*batch)["jpg"].as<std::uint8_t>().front() == 0x5a);
        if (const auto other = second.next()) got.push_back(digest_of(*other));
      }
      second.next();
    }
  }
  CHECK(got == wanted);
  REQUIRE(seen.size() >= wanted.size());
  seen.resize(wanted.size());
  CHECK(seen == wanted);
}

TEST_CASE("a loader gets its first batch when as many loaders ask as it was told of") {
  const MixedData data(12);
  const std::string name = name_of("gathers");
  Loader first(data.dataset(), shared(name, 2));
  std::atomic<bool> has_batch = false;
  const std::jthread asks([&] {
    first.next();
    has_batch = true;
  });
  std::this_thread::sleep_for(milliseconds(150));
  CHECK_FALSE(has_batch);
  Loader second(data.dataset(), shared(name, 2));
  CHECK(second.next().has_value());
}

TEST_CASE("batches stay valid when their loader, and the process that built them, have ended") {
  const MixedData data(12);
  const auto wanted = expected(data, 1);
  const std::string name = name_of("kept");
  std::optional<Batch> kept;
  {
    const Loader builds(data.dataset(), shared(name, 2));
    Loader other(data.dataset(), shared(name, 2));
    kept = other.next();
  }
  CHECK(digest_of(*kept) == wanted[0]);
}

TEST_CASE("loaders with other options are refused, and the error says which") {
  const MixedData data(12);
  const std::string name = name_of("refused");
  const Loader first(data.dataset(), shared(name));
  LoaderOptions options = shared(name);
  options.seed = 6;
  CHECK_THROWS_WITH_AS(Loader(data.dataset(), options), doctest::Contains("other options or another dataset"), Error);
  options = shared(name);
  options.device = "host";
  CHECK_THROWS_WITH_AS(Loader(data.dataset(), options), doctest::Contains("sharing cannot be combined with device"),
                       Error);
}

TEST_CASE("an invalid sample raises the same error in every loader, which goes on after it") {
  const MixedData data(12);
  write_file(data.folder / "data" / (number_key(3) + ".jpg"), "no picture");
  const std::string name = name_of("invalid");
  Loader first(data.dataset(), shared(name, 2)), second(data.dataset(), shared(name, 2));
  for (Loader* loader : {&first, &second}) {
    int failed = 0, batches = 0;
    for (bool ended = false; !ended;) {
      try {
        const bool got = loader->next().has_value();
        ended = !got;
        batches += got ? 1 : 0;
      } catch (const Error& error) {
        ++failed;
        CHECK(error.context().key == number_key(3));
      }
    }
    CHECK(failed == 1);
    CHECK(batches == 2);
  }
}

TEST_CASE("the recipe of a group is there as long as one of its loaders") {
  const MixedData data(4);
  const std::string name = name_of("recipe");
  CHECK(!recipe_of_sharing(name));
  {
    LoaderOptions options = shared(name);
    options.sharing.recipe = std::string("a\0b", 3);
    const Loader first(data.dataset(), options);
    CHECK(recipe_of_sharing(name) == options.sharing.recipe);
  }
  CHECK(!recipe_of_sharing(name));
}

}  // namespace penstock::test::shared_batches_test
