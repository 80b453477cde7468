#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/base/error.hpp>
#include <penstock/formats/views/views.hpp>

#include "support/temporary_folder.hpp"

namespace penstock::test::views_test {
namespace {

struct Made {
  std::string key;
  std::vector<std::pair<std::string, std::string>> fields;
};

// One shard per list of samples; values lie in one file each.
Dataset made(const std::filesystem::path& root, const std::string& name, const std::vector<std::vector<Made>>& lists,
             std::vector<std::string> classes = {}) {
  std::vector<Dataset::Shard> shards;
  for (std::size_t s = 0; s < lists.size(); ++s) {
    const std::string file = name + std::to_string(s) + ".bin";
    std::string bytes;
    IndexBuilder builder;
    builder.add_file({.path = file, .size = 0, .stamp = 0});
    for (const Made& sample : lists[s]) {
      builder.add_sample(sample.key);
      for (const auto& [field, value] : sample.fields) {
        const auto number = builder.field(field_from_extension(field));
        builder.set(number, Extent{0, bytes.size(), value.size()});
        bytes += value;
      }
    }
    builder.set_file_size(0, bytes.size());
    write_file(root / file, bytes);
    shards.push_back({.index = std::move(builder).finish(), .root = root, .name = file});
  }
  return Dataset(root / name, "made", std::move(shards), std::move(classes), false);
}

std::vector<Made> samples(const std::string& prefix, int count, const std::string& field = "txt") {
  std::vector<Made> list;
  for (int i = 0; i < count; ++i) {
    const std::string key = prefix + std::to_string(i);
    list.push_back({key, {{field, "value of " + key}}});
  }
  return list;
}

std::string value(const Dataset& dataset, std::uint64_t sample, const std::string& field) {
  const std::vector<std::byte> bytes = read_field(dataset, sample, *dataset.field(field));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::string> keys(const Dataset& dataset) {
  std::vector<std::string> all;
  for (std::uint64_t i = 0; i < dataset.size(); ++i) all.emplace_back(dataset.key(i));
  return all;
}

using Keys = std::vector<std::string>;

std::string refusal(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::invalid_argument);
    return error.what();
  }
  return "nothing was refused";
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("take and skip give the samples at these places, and tell what they are") {
  const TemporaryFolder folder;
  const Dataset whole = made(folder.path(), "a", {samples("a", 3), {}, samples("b", 4)});
  CHECK(!whole.is_view());
  CHECK(whole.about().empty());
  const Dataset some = take(skip(whole, 2), 3);
  CHECK(some.is_view());
  CHECK(keys(some) == Keys{"a2", "b0", "b1"});
  CHECK(value(some, 1, "txt") == "value of b0");
  CHECK(some.length(0, 0) == 11);
  CHECK(some.complete(0));
  CHECK(some.find("a2") == 0);
  CHECK(some.find("b1") == 2);
  CHECK(!some.find("b2"));
  CHECK(some.shard_of(1) == 2);
  CHECK(some.about() == "skip 2, take 3; 3 of 7 samples");
  CHECK(take(whole, 100).size() == 7);
  CHECK_THROWS_WITH_AS(some.key(3), doctest::Contains("sample 3 of 3 does not exist"), Error);
  CHECK(says(refusal([&] { skip(some, 3); }), "skip 3: chooses none of 3 samples"));
  CHECK(says(refusal([&] { take(some, 0); }), "take 0: chooses none of 3 samples"));
}

TEST_CASE("a view has the fingerprint of a dataset of its keys, whatever they are spread over") {
  const TemporaryFolder folder;
  const Dataset whole = made(folder.path(), "a", {samples("a", 3), samples("b", 4)});
  std::vector<Made> part = samples("a", 3), rest = samples("b", 4);
  part.erase(part.begin());
  part.insert(part.end(), rest.begin(), rest.end());
  const Dataset view = skip(whole, 1);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { static_cast<void>(view.fingerprint()); });
  threads.clear();
  CHECK(view.fingerprint() == made(folder.path(), "c", {part}).fingerprint());
  CHECK(take(whole, 7).fingerprint() == whole.fingerprint());
  const std::vector<std::uint64_t> order{6, 0, 0};
  const Dataset any = choose(whole, SampleList::of(order), "these");
  CHECK(keys(any) == Keys{"b3", "a0", "a0"});
  CHECK(any.fingerprint() == made(folder.path(), "d", {{rest[3]}, samples("a", 1), samples("a", 1)}).fingerprint());
  CHECK(any.fingerprint() != whole.fingerprint());
}

TEST_CASE("datasets stand one behind the other, also views, of other fields, and the same one twice") {
  const TemporaryFolder folder;
  const Dataset a = made(folder.path(), "a", {samples("a", 3), samples("b", 2)});
  const Dataset b = made(folder.path(), "b", {samples("c", 2, "cls")}, {"cat", "dog"});
  const Dataset both = concatenated(std::array{a, b});
  CHECK(both.is_view());
  CHECK(keys(both) == Keys{"a0", "a1", "a2", "b0", "b1", "c0", "c1"});
  CHECK(both.fields().size() == 2);
  CHECK(value(both, 4, "txt") == "value of b1");
  CHECK(value(both, 6, "cls") == "value of c1");
  CHECK(!both.complete(0));
  CHECK(both.classes().size() == 2);
  CHECK(both.file_count() == 3);
  CHECK(both.path() == a.path().string() + " + " + b.path().string());
  CHECK(both.find("c1") == 6);
  CHECK_THROWS_WITH_AS(read_field(both, 5, *both.field("txt")), doctest::Contains((b.path().string() + "").c_str()),
                       Error);
  const Dataset only_b = skip(both, 5);
  CHECK(only_b.complete(*both.field("cls")));
  CHECK(!only_b.complete(*both.field("txt")));
  CHECK(only_b.fingerprint() == b.fingerprint());

  const Dataset mixed = concatenated(std::array{skip(a, 4), b, take(a, 1), skip(a, 4), a});
  CHECK(keys(mixed) == Keys{"b1", "c0", "c1", "a0", "b1", "a0", "a1", "a2", "b0", "b1"});
  CHECK(mixed.file_count() == 3);
  CHECK(mixed.find("b1") == 0);
  CHECK(value(mixed, 4, "txt") == "value of b1");
  CHECK(says(mixed.path().string(), " + 2 more"));
  CHECK(concatenated(std::array{take(a, 2), skip(a, 2)}).fingerprint() == a.fingerprint());
  CHECK(says(refusal([&] { static_cast<void>(concatenated({})); }), "no dataset"));
}

TEST_CASE("datasets of other classes are not put together") {
  const TemporaryFolder folder;
  const Dataset a = made(folder.path(), "a", {samples("a", 1)}, {"cat", "dog"});
  const Dataset b = made(folder.path(), "b", {samples("b", 1)}, {"cat", "fox"});
  const Dataset c = made(folder.path(), "c", {samples("c", 1)}, {"cat", "dog", "fox"});
  const std::string other = refusal([&] { concatenated(std::array{a, b}); });
  CHECK(says(other, "class 1"));
  CHECK(says(other, "a has \"dog\""));
  CHECK(says(other, "b has \"fox\""));
  CHECK(says(refusal([&] { concatenated(std::array{a, c}); }), "a has 2 classes"));
  CHECK(concatenated(std::array{a, a}).classes().size() == 2);
}

TEST_CASE("how a chain of choices was made is told in a bounded line") {
  const TemporaryFolder folder;
  Dataset view = made(folder.path(), "a", {samples("a", 200)});
  for (int i = 0; i < 100; ++i) view = skip(view, 1);
  CHECK(view.about().size() < 300);
  CHECK(says(view.about(), "100 of 200 samples"));
}

}  // namespace penstock::test::views_test
