#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <formats/dataset.hpp>
#include <formats/extent.hpp>
#include <formats/index/index.hpp>
#include <formats/lists/sample_list.hpp>
#include <formats/views/key_pattern.hpp>
#include <penstock/error.hpp>
#include <penstock/views.hpp>

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

TEST_CASE("samples are sorted by key, by length and by numbers, equal ones in their order") {
  const TemporaryFolder folder;
  const std::vector<Made> list{{"b", {{"txt", "333"}}}, {"a", {{"txt", "22"}}}, {"c", {{"txt", "22"}}}, {"d", {}}};
  const Dataset whole = made(folder.path(), "a", {list});
  CHECK(keys(sorted_by_key(whole)) == Keys{"a", "b", "c", "d"});
  CHECK(keys(sorted_by_key(whole, true)) == Keys{"d", "c", "b", "a"});
  CHECK(keys(sorted_by_length(whole, "txt")) == Keys{"d", "a", "c", "b"});
  CHECK(keys(sorted_by_length(whole, "txt", true)) == Keys{"b", "a", "c", "d"});
  const std::array numbers{0.0, -1.5, -0.0, 1e300};
  const auto number = [&](std::uint64_t sample) { return numbers[sample]; };
  CHECK(keys(sorted_by_numbers(whole, number, "sort by x")) == Keys{"a", "b", "c", "d"});
  CHECK(keys(sorted_by_numbers(whole, number, "sort by x", true)) == Keys{"d", "b", "c", "a"});
  CHECK(sorted_by_key(whole).find("c") == 2);
  CHECK(says(refusal([&] { sorted_by_length(whole, "jpg"); }), "no field \"jpg\""));
}

TEST_CASE("a join has the fields of both, by key") {
  const TemporaryFolder folder;
  const Dataset images = made(folder.path(), "a", {samples("a", 3, "jpg"), samples("b", 2, "jpg")}, {"cat"});
  std::vector<Made> masks;
  for (const char* key : {"b1", "a2", "a0", "z", "b0", "a1"}) {
    const std::string text(key);
    masks.push_back({text, {{"png", "mask of " + text}, {"jpg", "another"}}});
  }
  const Dataset other = made(folder.path(), "m", {masks}, {"cat"});
  const Dataset both = joined(images, other);
  CHECK(keys(both) == keys(images));
  CHECK(both.fields().size() == 2);
  CHECK(both.classes()[0] == "cat");
  const std::uint32_t png = *both.field("png");
  CHECK(both.complete(png));
  CHECK(both.complete(*both.field("jpg")));
  for (std::uint64_t i = 0; i < both.size(); ++i) {
    CHECK(value(both, i, "jpg") == "value of " + std::string(both.key(i)));
    CHECK(value(both, i, "png") == "mask of " + std::string(both.key(i)));
    CHECK(both.shard(both.shard_of(i, png)).name == "m0.bin");
  }
  CHECK(both.fingerprint() == images.fingerprint());
  CHECK(says(both.about(), "join png; 5 of 5 samples"));

  const Dataset renamed = joined(skip(images, 3), other, {.fields = {{"jpg", "other.jpg"}}});
  CHECK(value(renamed, 0, "other.jpg") == "another");
  CHECK(!renamed.field("png"));
  // views, concatenations and joins of joins
  CHECK(value(take(skip(both, 2), 2), 1, "png") == "mask of b0");
  const Dataset all = concatenated(std::array{skip(both, 4), images, take(both, 1), skip(other, 3)});
  CHECK(keys(all) == Keys{"b1", "a0", "a1", "a2", "b0", "b1", "a0", "z", "b0", "a1"});
  CHECK(value(all, 0, "png") == "mask of b1");
  CHECK(!all.complete(*all.field("png")));
  CHECK(value(all, 6, "png") == "mask of a0");
  CHECK(value(all, 7, "png") == "mask of z");
  CHECK(value(all, 7, "jpg") == "another");
  CHECK(value(all, 4, "jpg") == "value of b0");
  const Dataset twice = joined(both, renamed, {.fields = {{"other.jpg", "x"}}, .leave_out = true});
  CHECK(keys(twice) == Keys{"b0", "b1"});
  CHECK(value(twice, 1, "x") == "another");
  CHECK(value(twice, 1, "png") == "mask of b1");
  CHECK(says(twice.about(), "3 without a partner left out"));

  CHECK(says(refusal([&] { joined(other, images, {.fields = {{"jpg", "x"}}}); }), "sample z"));
  CHECK(says(refusal([&] { joined(images, other, {.fields = {{"jpg", "jpg"}}}); }), "\"jpg\" already exists"));
  CHECK(says(refusal([&] { joined(images, images); }), "has no field that"));
  CHECK(says(refusal([&] { joined(images, other, {.fields = {{"txt", "txt"}}}); }), "no field \"txt\" to join"));
}

TEST_CASE("keys are compared with patterns as shells do it") {
  CHECK(KeyPattern("cat/*").matches("cat/a/b"));
  CHECK(!KeyPattern("cat/*").matches("dog/cat/a"));
  CHECK(KeyPattern("*/00[0-4]?").matches("x/0032"));
  CHECK(!KeyPattern("*/00[!0-4]?").matches("x/0032"));
  CHECK(KeyPattern("{cat,dog}/{1..3}").matches("dog/2"));
  CHECK(!KeyPattern("{cat,dog}/{1..3}").matches("dog/4"));
  CHECK(KeyPattern("caf?.x").matches("caf\xc3\xa9.x"));
  CHECK(KeyPattern("a[").matches("a["));
  CHECK(KeyPattern("").matches(""));
  CHECK(!KeyPattern("?").matches(""));
  CHECK(!KeyPattern(std::string(100, '*') + "b").matches(std::string(10'000, 'a')));
}

}  // namespace penstock::test::views_test
