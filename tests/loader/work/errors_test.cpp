// Tests bad samples: raised with their whole context, replaced or marked, and never lost from the count.
#include <map>
#include <memory>
#include <set>
#include <stdexcept>

#include <doctest/doctest.h>
#include <sys/mman.h>

#include <penstock/loader/plan/plan.hpp>

#include "support/faulty_engine.hpp"
#include "support/loading.hpp"
#include "support/stuck_engine.hpp"

namespace penstock::test::errors_test {
namespace {

// 40 good samples but for numbers 7 and 23, whose arrays are cut in their header.
Dataset damaged(const std::filesystem::path& folder) {
  write_arrays(folder, 40);
  for (const std::uint64_t bad : {7U, 23U}) write_file(folder / (number_key(bad) + ".npy"), "\x93NUMPY");
  return open(folder);
}

LoaderOptions shuffled(OnError policy) {
  LoaderOptions options;
  options.batch_size = 8;
  options.shuffle = true;
  options.workers = 3;
  options.on_error = policy;
  options.max_error_rate = 0.5;
  return options;
}

}  // namespace

TEST_CASE("what a consumer does while it waits may end the wait, and the loader stays where it is") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 40);
  const auto latch = std::make_shared<Latch>();
  LoaderOptions options;
  options.batch_size = 8;
  options.workers = 2;
  Loader loader(open(folder / "data"), options, [&](const Dataset&, const EngineOptions&, OnRead) {
    return ChosenEngine{std::make_unique<StuckEngine>(true, latch), "stuck"};
  });
  const LoaderState before = loader.state();
  int calls = 0;
  const auto give_up = [&] {
    if (++calls == 3) throw std::runtime_error("enough");
  };
  CHECK_THROWS_WITH_AS(loader.next(give_up), "enough", std::runtime_error);
  CHECK(calls == 3);
  CHECK(loader.state() == before);
  CHECK(loader.stats().consumer_wait >= std::chrono::milliseconds(150));
  latch->open();
}

TEST_CASE("raise: next() throws with dataset, key, field and cause, and then goes on with the next batch") {
  const TemporaryFolder folder;
  const Dataset dataset = damaged(folder / "data");
  LoaderOptions options;
  options.batch_size = 8;
  Loader loader(dataset, options);
  try {
    loader.next();
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::corrupt);
    CHECK(error.context().dataset == (folder / "data").string());
    CHECK(error.context().key == number_key(7));
    CHECK(error.context().field == "npy");
    CHECK(error.context().shard.find(number_key(7)) != std::string::npos);
  }
  CHECK(loader.next()->keys()[0] == number_key(8));
}

TEST_CASE("mark: the row is zeros and does not count, the batch is whole, the sample is listed") {
  const TemporaryFolder folder;
  Loader loader(damaged(folder / "data"), shuffled(OnError::mark));
  std::set<std::uint64_t> good;
  std::uint64_t rows = 0;
  while (const auto batch = loader.next()) {
    CHECK(batch->size() == 8);
    for (std::uint32_t row = 0; row < batch->size(); ++row, ++rows) {
      const std::uint64_t sample = batch->samples()[row];
      const auto values = (*batch)["npy"].as<float>().subspan(row * 3, 3);
      if (batch->valid()[row] != 0) {
        good.insert(sample);
        CHECK(values[0] == static_cast<float>(sample));
      } else {
        CHECK((sample == 7 || sample == 23));
        CHECK(values[0] == 0.0F);
        CHECK((*batch)["cls"].as<std::int64_t>()[row] == 0);
      }
    }
  }
  CHECK(rows == 40);
  CHECK(good.size() == 38);
  const Stats stats = loader.stats();
  CHECK(stats.bad_samples == 2);
  REQUIRE(stats.bad.size() == 2);
  CHECK(std::set<std::string>{stats.bad[0].key, stats.bad[1].key} ==
        std::set<std::string>{number_key(7), number_key(23)});
  CHECK(stats.bad[0].field == "npy");
}

TEST_CASE("a broken first sample is for the policy, not for the constructor") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 4);
  write_file(folder / "data" / (number_key(0) + ".npy"), "\x93NUMPY");
  LoaderOptions options = shuffled(OnError::mark);
  Loader loader(open(folder / "data"), options);
  std::map<std::uint64_t, int> good;
  count_samples(loader, good);
  CHECK(good.size() == 3);
}

TEST_CASE("replace: another good sample takes the row, the same one whatever the workers and the engine") {
  const TemporaryFolder folder;
  const Dataset dataset = damaged(folder / "data");
  std::vector<std::uint64_t> expected;
  for (const EngineKind engine : {EngineKind::in_worker, EngineKind::pread}) {
    for (const unsigned workers : {1U, 4U}) {
      LoaderOptions options = shuffled(OnError::replace);
      options.workers = workers;
      options.engine = engine;
      options.fields = {{"npy", array::decode()}, {"cls", label()}, {"stored", field("npy") | raw()}};
      Loader loader(dataset, options);
      std::vector<std::uint64_t> digests;
      std::uint64_t rows = 0;
      for (int epoch = 0; epoch < 2; ++epoch) {
        while (const auto batch = loader.next()) {
          Digest digest;
          digest.add(*batch);
          digests.push_back(digest.value());
          rows += batch->size();
          for (std::uint32_t row = 0; row < batch->size(); ++row) {
            CHECK(batch->valid()[row] == 1);
            CHECK((*batch)["npy"].as<float>()[row * 3] == static_cast<float>(batch->samples()[row]));
            CHECK((*batch)["cls"].as<std::int64_t>()[row] == static_cast<std::int64_t>(batch->samples()[row] % 10));
          }
        }
      }
      CHECK(rows == 80);
      CHECK(loader.stats().bad_samples >= 4);
      if (expected.empty()) expected = digests;
      CHECK(digests == expected);
    }
  }
}

namespace {

// Reads go through a FaultyEngine. `seen` is the last that was made.
Loader::EngineFactory faulty(Faults faults, FaultyEngine** seen = nullptr) {
  return [=](const Dataset& dataset, const EngineOptions& options, OnRead on_read) {
    const auto make = [&](OnRead answer) { return choose_engine(dataset, options, std::move(answer)).engine; };
    auto engine = std::make_unique<FaultyEngine>(make, faults, std::move(on_read));
    if (seen != nullptr) *seen = engine.get();
    return ChosenEngine{std::move(engine), "faulty"};
  };
}

}  // namespace

TEST_CASE("replace: a replacement that cannot be read is an error of its batch, and the loader goes on") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 3);
  write_file(folder / "data" / (number_key(0) + ".npy"), "\x93NUMPY");  // replaced by one of the others, or itself
  const Dataset dataset = open(folder / "data");
  for (const EngineKind kind : {EngineKind::in_worker, EngineKind::pread}) {
    LoaderOptions options = shuffled(OnError::replace);
    options.shuffle = false;
    options.batch_size = 1;
    options.max_error_rate = 1;
    options.engine = kind;
    options.fields = {{"npy", array::decode()}};
    Loader good(dataset, options);
    const std::uint64_t replacement = good.next()->samples()[0];
    REQUIRE(replacement != 0);
    std::filesystem::rename(folder / "data" / (number_key(replacement) + ".npy"), folder / "away");
    Loader loader(dataset, options);
    try {
      loader.next();
      FAIL("nothing was thrown");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::io);
      CHECK(error.context().key == number_key(replacement));
      CHECK(error.context().dataset == (folder / "data").string());
    }
    std::filesystem::rename(folder / "away", folder / "data" / (number_key(replacement) + ".npy"));
    for (const std::uint64_t sample : {1U, 2U}) {  // either read ahead, or not yet when it was away
      try {
        const auto batch = loader.next();
        CHECK(batch->samples()[0] == sample);
      } catch (const Error& error) {
        CHECK(error.context().key == number_key(sample));
        CHECK(sample == replacement);
      }
    }
    CHECK_FALSE(loader.next().has_value());
  }
}

TEST_CASE("replace: what takes a row is drawn from its position, so that others do not change it") {
  const TemporaryFolder folder;
  const Dataset dataset = damaged(folder / "data");
  std::map<std::uint64_t, std::uint64_t> taken;  // by position
  for (const std::uint32_t batch_size : {1U, 5U, 8U, 40U}) {
    LoaderOptions options = shuffled(OnError::replace);
    options.shuffle = false;
    options.batch_size = batch_size;
    options.max_error_rate = 1;
    Loader loader(dataset, options);
    for (std::uint64_t position = 0; const auto batch = loader.next();) {
      for (const std::uint64_t sample : batch->samples()) {
        if (sample != position) CHECK(taken.try_emplace(position, sample).first->second == sample);
        ++position;
      }
    }
  }
  REQUIRE(taken.size() == 2);
  CHECK(taken.at(7) != taken.at(23));
  LoaderOptions options = shuffled(OnError::replace);
  options.shuffle = false;
  options.max_error_rate = 1;
  std::set<std::uint64_t> drawn;  // each epoch draws anew
  Loader loader(dataset, options);
  for (int epoch = 0; epoch < 8; ++epoch) {
    for (std::uint64_t position = 0; const auto batch = loader.next();) {
      for (const std::uint64_t sample : batch->samples()) {
        if (position++ == 7) drawn.insert(sample);
      }
    }
  }
  CHECK(drawn.size() > 3);
  drawn.clear();
  for (options.seed = 0; options.seed < 8; ++options.seed) {  // and so does each seed
    Loader seeded(dataset, options);
    drawn.insert(seeded.at(0, 0).samples()[7]);
  }
  CHECK(drawn.size() > 3);

  // The same samples in the same places, as a list that is not shuffled: the same places of it take them.
  options.seed = 10;  // of which no first draw is a bad one
  options.shuffle = true;
  const Plan plan({.samples = 40, .shuffle = true, .seed = options.seed, .batch_size = 8}, 0);
  LoaderOptions listed = options;
  listed.shuffle = false;
  listed.subset.emplace();
  for (std::uint64_t position = 0; position < 40; ++position) listed.subset->push_back(plan.sample_at(position));
  Loader mixed(dataset, options), of_list(dataset, listed);
  std::size_t compared = 0;
  for (std::uint64_t position = 0; const auto batch = mixed.next();) {
    const auto other = of_list.next();
    for (std::uint32_t row = 0; row < batch->size(); ++row, ++position) {
      const std::uint64_t sample = batch->samples()[row];
      if (sample == plan.sample_at(position)) continue;
      CHECK(other->samples()[row] == plan.sample_at(sample));
      ++compared;
    }
  }
  CHECK(compared == 2);
}

TEST_CASE("I/O errors are tried three times, corrupt bytes once, and what failed ahead of its row is tried again") {
  const Arrays arrays(1);
  const Dataset dataset = packed(arrays.dataset(), arrays.folder / "tar", "tar");
  LoaderOptions options;
  options.batch_size = 1;
  options.workers = 1;
  options.prefetch = 1;
  options.fields = {{"npy", array::decode()}};
  const auto reads_until = [&](EngineKind kind, Faults faults) {
    FaultyEngine* engine = nullptr;  // the workers' own
    options.engine = kind;
    std::string ended;
    Loader loader(dataset, options, faulty(faults, &engine));
    try {
      const auto batch = loader.next();
      CHECK(batch->samples()[0] == 0);
    } catch (const Error& error) {
      ended = name(error.kind());
    }
    loader.set_epoch(0);  // what was ahead is over
    return ended;
  };
  for (const unsigned times : {0U, 1U, 2U})
    CHECK(reads_until(EngineKind::in_worker, {.fail_file = 0, .times = times}) == "");
  CHECK(reads_until(EngineKind::in_worker, {.fail_file = 0, .times = 3}) == "i/o");
  CHECK(reads_until(EngineKind::in_worker, {.fail_file = 0, .corrupt = true, .times = 1}) == "corrupt");
  // Of an engine that reads ahead, each fails so often.
  for (const unsigned times : {0U, 1U, 2U})
    CHECK(reads_until(EngineKind::pread, {.fail_file = 0, .times = times}) == "");
  CHECK(reads_until(EngineKind::pread, {.fail_file = 0, .times = 3}) == "i/o");
}

TEST_CASE("a limit is passed at the same batch however often the epoch is begun again, and never by that alone") {
  const TemporaryFolder folder;
  const Dataset dataset = damaged(folder / "data");
  LoaderOptions options = shuffled(OnError::mark);
  options.max_error_rate = 0.05;  // the two of forty that are bad
  Loader enough(dataset, options);
  const LoaderState begun = enough.state();
  for (int again = 0; again < 3; ++again) {
    while (enough.next()) {
    }
    enough.set_epoch(0);
    for (int batch = 0; batch < 3; ++batch) REQUIRE(enough.next().has_value());
    enough.restore(begun);
    for (std::uint64_t batch = 0; batch < 5; ++batch) enough.at(0, batch);
  }
  while (enough.next()) {
  }
  CHECK(enough.stats().bad.size() == 2);  // each is listed once an epoch
  while (enough.next()) {
  }
  CHECK(enough.stats().bad.size() == 4);

  options.max_error_rate = 0.025;
  Loader few(dataset, options);
  std::vector<std::uint64_t> passed_at;
  for (int again = 0; again < 3; ++again) {
    few.set_epoch(0);
    try {
      while (few.next()) {
      }
    } catch (const Error& error) {
      CHECK(error.cause().find("2 of 40 samples of epoch 0 are bad") == 0);
      passed_at.push_back(few.state().batch);
    }
  }
  REQUIRE(passed_at.size() == 3);
  CHECK(passed_at == std::vector<std::uint64_t>(3, passed_at.front()));
}

TEST_CASE("several ranks: each minds its share, and says so; with a sum over them they raise at the same batch") {
  const TemporaryFolder folder;
  const Dataset dataset = damaged(folder / "data");
  LoaderOptions options = shuffled(OnError::mark);
  options.batch_size = 1;
  options.world = 2;
  options.max_error_rate = 0;
  std::vector<std::unique_ptr<Loader>> ranks;
  std::map<std::uint64_t, std::uint64_t> sums;  // by batch, of what the ranks gave
  const auto run = [&](std::uint32_t rank) {
    try {
      while (ranks[rank]->next()) {
      }
    } catch (const Error& error) {
      CHECK(error.cause().find("max_error_rate") != std::string::npos);
    }
    return ranks[rank]->state().batch;
  };
  for (options.rank = 0; options.rank < 2; ++options.rank) ranks.push_back(std::make_unique<Loader>(dataset, options));
  CHECK(ranks[0]->stats().notes.find("sum_over_ranks makes them raise at the same one") != std::string::npos);
  CHECK(run(0) != run(1));

  // What a process group would tell: first all ranks' numbers are gathered, then each gets their sum.
  std::uint32_t rank = 0;
  bool gathering = true;
  std::vector<std::uint64_t> asked_at;
  options.sum_over_ranks = [&](std::uint64_t bad) {
    const std::uint64_t batch = ranks[rank]->state().batch;
    if (gathering) return sums[batch] += bad, std::uint64_t{0};
    asked_at.push_back(batch);
    return sums.at(batch);
  };
  for (const bool first : {true, false}) {
    gathering = first;
    ranks.clear();
    for (options.rank = 0; options.rank < 2; ++options.rank)
      ranks.push_back(std::make_unique<Loader>(dataset, options));
    CHECK(ranks[0]->stats().notes.empty());
    std::vector<std::uint64_t> ended;
    for (rank = 0; rank < 2; ++rank) ended.push_back(run(rank));
    CHECK(ended[0] == ended[1]);
  }
  CHECK(sums.rbegin()->second == 2);
  CHECK(asked_at.size() % 2 == 0);
  CHECK(asked_at.front() == 16);
}

TEST_CASE("more bad samples than max_error_rate raise, at the same batch whatever the workers") {
  const TemporaryFolder folder;
  const Dataset dataset = damaged(folder / "data");
  for (const unsigned workers : {1U, 4U}) {
    LoaderOptions options = shuffled(OnError::mark);
    options.shuffle = false;
    options.workers = workers;
    options.max_error_rate = 0.025;  // one of forty
    Loader loader(dataset, options);
    CHECK(loader.next().has_value());
    CHECK(loader.next().has_value());
    CHECK_THROWS_WITH_AS(loader.next(), doctest::Contains("max_error_rate"), Error);
  }
}

TEST_CASE("a row of another shape is an error that names both shapes") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 4);
  write_file(folder / "data" / (number_key(2) + ".npy"), npy_file({1, 2}, "(2,)"));
  Loader loader(open(folder / "data"), {.batch_size = 4});
  try {
    loader.next();
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::shape);
    CHECK(error.context().key == number_key(2));
    CHECK(error.cause().find("(2,)") != std::string::npos);
    CHECK(error.cause().find("(3,)") != std::string::npos);
  }
}

TEST_CASE("a file that vanished or shrank after it was indexed is one clear error") {
  for (const EngineKind engine : {EngineKind::in_worker, EngineKind::pread, EngineKind::io_uring}) {
    const TemporaryFolder folder;
    write_arrays(folder / "data", 8);
    const Dataset dataset = open(folder / "data");
    LoaderOptions options;
    options.batch_size = 4;
    options.engine = engine;
    options.fields = {{"npy", array::decode()}};
    Loader sound(dataset, options);
    CHECK(sound.next().has_value());
    std::filesystem::resize_file(folder / "data" / (number_key(1) + ".npy"), 40);
    std::filesystem::remove(folder / "data" / (number_key(6) + ".npy"));
    Loader loader(dataset, options);
    CHECK_THROWS_WITH_AS(loader.next(), doctest::Contains(number_key(1).c_str()), Error);
    try {
      loader.next();
      FAIL("nothing was thrown");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::io);
      CHECK(error.context().key == number_key(6));
    }
  }
}

TEST_CASE("a value larger than memory is an error that names it, with every engine, and other batches come") {
  constexpr std::uint64_t kBytes = std::uint64_t{1} << 39;
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) {
    munmap(memory, kBytes);
    MESSAGE("skipped: this system promises more memory than it has");
    return;
  }
  const TemporaryFolder folder;
  write_arrays(folder / "data", 12);
  std::error_code refused;  // a sparse file
  std::filesystem::resize_file(folder / "data" / (number_key(5) + ".npy"), kBytes, refused);
  if (refused) {
    MESSAGE("skipped: no file may be that large here");
    return;
  }
  const Dataset dataset = open(folder / "data");
  for (const EngineKind kind : {EngineKind::in_worker, EngineKind::pread, EngineKind::io_uring, EngineKind::gather}) {
    for (const bool stored : {false, true}) {
      CAPTURE(name(kind));
      CAPTURE(stored);
      LoaderOptions options;
      options.batch_size = 4;
      options.engine = kind;
      options.fields = {{"npy", stored ? raw() : array::decode()}};
      std::optional<Loader> loader;
      try {
        loader.emplace(dataset, options);
      } catch (const Error& error) {
        MESSAGE("skipped: " << error.what());
        continue;
      }
      CHECK(loader->next()->size() == 4);
      try {
        loader->next();
        FAIL("nothing was thrown");
      } catch (const Error& error) {
        CAPTURE(error.what());
        CHECK(error.context().key == number_key(5));
        CHECK(error.context().dataset == (folder / "data").string());
        CHECK((error.kind() == ErrorKind::resource || error.is_data_fault()));
      }
      CHECK(loader->next()->size() == 4);
    }
  }
}

TEST_CASE("storage that never answers: next() raises after the timeout with a dump, and the destructor returns") {
  const TemporaryFolder folder;
  write_arrays(folder / "data", 40);
  const Dataset dataset = open(folder / "data");
  for (const bool synchronous : {false, true}) {
    CAPTURE(synchronous);
    const auto latch = std::make_shared<Latch>();
    LoaderOptions options;
    options.batch_size = 8;
    options.workers = 2;
    options.timeout = std::chrono::milliseconds(100);
    const auto begin = std::chrono::steady_clock::now();
    {
      Loader loader(dataset, options, [&](const Dataset&, const EngineOptions& engine, OnRead) {
        return ChosenEngine{std::make_unique<StuckEngine>(synchronous || engine.kind == EngineKind::in_worker, latch),
                            "stuck"};
      });
      for (int tries = 0; tries < 2; ++tries) {
        try {
          loader.next();
          FAIL("nothing was thrown");
        } catch (const Error& error) {
          CHECK(error.kind() == ErrorKind::resource);
          CHECK(error.cause().find("100 ms") != std::string::npos);
          CHECK(error.cause().find(number_key(0)) != std::string::npos);
          CHECK(error.cause().find(synchronous ? "decoding" : "reading") != std::string::npos);
        }
      }
    }
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
    latch->open();
  }
}

TEST_CASE("images of which none can be decoded are no rows of bytes: the error names the sample") {
  const TemporaryFolder folder;
  for (const std::string& bytes :
       {std::string("GIF89a"), std::string("no image"),
        std::string("\xFF\xD8\xFF\xC3\x00\x0B\x08\x00\x08\x00\x08\x01\x01\x11\x00\xFF\xDA", 17),
        std::string("\xFF\xD8\xFF\xC1\x00\x0B\x0C\x00\x08\x00\x08\x01\x01\x11\x00\xFF\xDA", 17)}) {
    CAPTURE(bytes);
    for (std::uint64_t i = 0; i < 20; ++i) write_file(folder / "data" / (number_key(i) + ".jpg"), bytes);
    for (const OnError policy : {OnError::raise, OnError::replace, OnError::mark}) {
      std::optional<Error> error;
      try {
        Loader loader(open(folder / "data"), {.batch_size = 4, .on_error = policy});
      } catch (const Error& thrown) {
        error = thrown;
      }
      REQUIRE(error.has_value());
      CHECK(error->is_data_fault());
      CHECK(error->context().dataset == (folder / "data").string());
      CHECK(error->context().key == number_key(0));
      CHECK(error->context().field == "jpg");
    }
  }
}

TEST_CASE("on_error gets over many bad samples before the first good one, whose shape the others have") {
  const TemporaryFolder folder;
  for (std::uint64_t i = 0; i < 40; ++i) write_file(folder / "data" / (number_key(i) + ".npy"), "\x93NUMPY");
  write_file(folder / "data" / (number_key(40) + ".npy"), npy_file({1, 2, 3}, "(3,)"));
  LoaderOptions options{.batch_size = 41, .on_error = OnError::mark, .max_error_rate = 1};
  Loader loader(open(folder / "data"), options);
  const Batch batch = *loader.next();
  CHECK(batch["npy"].values.shape == Shape{41, 3});
  CHECK(batch.bad().size() == 40);
  CHECK(batch.valid()[40] == 1);
  options.on_error = OnError::raise;
  CHECK_THROWS_WITH_AS(Loader(open(folder / "data"), options), doctest::Contains(number_key(0).c_str()), Error);
}

TEST_CASE("what an engine's maker throws, whatever it is, is an error that names the dataset") {
  const Arrays data(8);
  const auto made_by = [&](const auto& thrown) {
    Loader loader(data.dataset(), {.batch_size = 4},
                  [&](const Dataset&, const EngineOptions&, OnRead) -> ChosenEngine { throw thrown; });
  };
  const std::string path = data.dataset().path().string();
  CHECK_THROWS_WITH_AS(made_by(std::out_of_range("range")), (path + ": resource: an unexpected failure: range").c_str(),
                       Error);
  CHECK_THROWS_WITH_AS(made_by(7), (path + ": resource: an exception of an unknown type").c_str(), Error);
}

}  // namespace penstock::test::errors_test
