#include <limits>
#include <string>

#include <doctest/doctest.h>

#include <penstock/error.hpp>
#include <penstock/state.hpp>

namespace penstock::test::state_test {
namespace {

constexpr const char* kVersion1 =
    R"({"penstock_state":1,"dataset":"00ab54a98ceb1f0a","samples":10007,"seed":42,"epoch":3,"start":512,"batch":17,)"
    R"("world":8,"batch_size":64,"transforms":"jpeg 1; resize 1"})";
constexpr const char* kGolden =
    R"({"penstock_state":2,"dataset":"00ab54a98ceb1f0a","samples":10007,"seed":42,"epoch":3,"start":512,"batch":17,)"
    R"("world":8,"batch_size":64,"transforms":"jpeg 1; resize 1",)"
    R"("shuffle":true,"shuffle_block":32,"subset":"0123456789abcdef","last":"pad"})";

LoaderState golden() {
  return {.dataset = 0x00ab54a98ceb1f0a,
          .samples = 10007,
          .seed = 42,
          .epoch = 3,
          .start = 512,
          .batch = 17,
          .world = 8,
          .batch_size = 64,
          .transforms = "jpeg 1; resize 1",
          .order = SavedOrder{
              .shuffle = true, .shuffle_block = 32, .subset = 0x0123456789abcdef, .last = penstock::Last::pad}};
}

LoaderState of_version_1() {
  LoaderState state = golden();
  state.order.reset();
  return state;
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("the state's text is the same in every version") {
  CHECK(golden().to_json() == kGolden);
  CHECK(LoaderState::from_json(kGolden) == golden());
}

TEST_CASE("a state of version 1 is read, and does not say the order") {
  CHECK(LoaderState::from_json(kVersion1) == of_version_1());
  CHECK(of_version_1().to_json() == kVersion1);
}

TEST_CASE("a state with old names of steps is read with the present ones") {
  const std::string old = with(kGolden, "resize 1", "jpg = image.random_flip(0.5) | label(classes=3)");
  CHECK(LoaderState::from_json(old).transforms ==
        "jpeg 1; jpg = image.random_horizontal_flip(0.5) | label(num_classes=3)");
}

TEST_CASE("what a state of all samples, in their order, says of it") {
  LoaderState state = of_version_1();
  state.order.emplace();
  CHECK(state.to_json() == with(kVersion1, "state\":1", "state\":2").substr(0, std::string(kVersion1).size() - 1) +
                               R"(,"shuffle":false,"shuffle_block":0,"subset":null,"last":"keep"})");
  CHECK(LoaderState::from_json(state.to_json()) == state);
  state.order = SavedOrder{.shuffle = true, .shuffle_block = 16, .block_of_version_1 = true};
  CHECK(LoaderState::from_json(state.to_json()) == state);
}

TEST_CASE("members that a later penstock adds are left out of account") {
  CHECK(LoaderState::from_json(with(kGolden, "\"seed\"", R"("added":{"later":[1]},"seed")")) == golden());
  CHECK(LoaderState::from_json(with(kVersion1, "\"seed\"", R"("shuffle":7,"seed")")) == of_version_1());
}

TEST_CASE("the largest values survive") {
  constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
  LoaderState state{.dataset = kMax,
                    .samples = kMax,
                    .seed = kMax,
                    .epoch = kMax,
                    .start = kMax,
                    .batch = kMax,
                    .world = 0xffffffff,
                    .batch_size = 0xffffffff,
                    .transforms = "\"\\\n",
                    .order = SavedOrder{.shuffle = true, .shuffle_block = kMax, .subset = kMax}};
  CHECK(LoaderState::from_json(state.to_json()) == state);
}

TEST_CASE("what is no state is refused with the reason") {
  const auto refused = [](const std::string& text, const char* reason) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(LoaderState::from_json(text), doctest::Contains(reason), penstock::Error);
  };
  refused("", "not a JSON object");
  refused("[1]", "not a JSON object");
  refused(std::string(100000, '['), "not a JSON object");
  refused("{}", "\"penstock_state\" is missing");
  refused(with(kGolden, "state\":2", "state\":3"),
          "version 3 was written by a newer penstock; this one reads versions 1 and 2");
  refused(with(kGolden, "state\":2", "state\":0"), "no version 0");
  refused(with(kVersion1, "state\":1", "state\":2"), "\"shuffle\" is missing");
  refused(with(kGolden, "\"shuffle\":true", "\"shuffle\":1"), "\"shuffle\" is not true or false");
  refused(with(kGolden, "\"shuffle_block\":32", "\"shuffle_block\":null"), "\"shuffle_block\" is not a number");
  refused(with(kGolden, "0123456789abcdef", "0123456789abcdeg"),
          "\"subset\" is not a fingerprint of 16 hexadecimal digits");
  refused(with(kGolden, ",\"last\":\"pad\"", ""), "\"last\" is missing");
  refused(with(kGolden, "pad", "most"), "\"last\" is not keep, drop or pad");
  refused(with(kGolden, "\"seed\":42,", ""), "\"seed\" is missing");
  refused(with(kGolden, "42", "-1"), "\"seed\" is not a number");
  refused(with(kGolden, "42", "1.5"), "\"seed\" is not a number");
  refused(with(kGolden, "\"world\":8", "\"world\":4294967296"), "\"world\" is not a number from 0 to 4294967295");
  refused(with(kGolden, "\"world\":8", "\"world\":0"), "must be at least 1");
  refused(with(kGolden, "\"start\":512", "\"start\":10008"), "is larger than");
  refused(with(kGolden, "00ab54", "zzab54"), "16 hexadecimal digits");
  refused(with(kGolden, "00ab54", "ab54"), "16 hexadecimal digits");
  refused(with(kGolden, "\"jpeg 1; resize 1\"", "7"), "\"transforms\" is not a string");
}

TEST_CASE("a state cut short anywhere is refused") {
  for (const std::string whole : {kVersion1, kGolden}) {
    for (std::size_t length = 0; length < whole.size(); ++length)
      CHECK_THROWS_AS(LoaderState::from_json(whole.substr(0, length)), penstock::Error);
  }
}

}  // namespace penstock::test::state_test
