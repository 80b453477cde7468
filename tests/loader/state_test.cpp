#include <limits>
#include <string>

#include <doctest/doctest.h>

#include <penstock/formats/error.hpp>
#include <penstock/loader/state.hpp>

using penstock::LoaderState;

namespace {

constexpr const char* kGolden =
    R"({"penstock_state":1,"dataset":"00ab54a98ceb1f0a","samples":10007,"seed":42,"epoch":3,"start":512,"batch":17,)"
    R"("world":8,"batch_size":64,"transforms":"jpeg 1; resize 1"})";

LoaderState golden() {
  return {.dataset = 0x00ab54a98ceb1f0a,
          .samples = 10007,
          .seed = 42,
          .epoch = 3,
          .start = 512,
          .batch = 17,
          .world = 8,
          .batch_size = 64,
          .transforms = "jpeg 1; resize 1"};
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("the state's text is the same in every version") {
  CHECK(golden().to_json() == kGolden);
  CHECK(LoaderState::from_json(kGolden) == golden());
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
                    .transforms = "\"\\\n"};
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
  refused(with(kGolden, "state\":1", "state\":2"), "version 2 is not read here");
  refused(with(kGolden, "\"seed\":42,", ""), "\"seed\" is missing");
  refused(with(kGolden, "42", "-1"), "\"seed\" is no number");
  refused(with(kGolden, "42", "1.5"), "\"seed\" is no number");
  refused(with(kGolden, "\"world\":8", "\"world\":4294967296"), "\"world\" is no number from 0 to 4294967295");
  refused(with(kGolden, "\"world\":8", "\"world\":0"), "must be at least 1");
  refused(with(kGolden, "\"start\":512", "\"start\":10008"), "lies behind");
  refused(with(kGolden, "00ab54", "zzab54"), "16 hexadecimal digits");
  refused(with(kGolden, "00ab54", "ab54"), "16 hexadecimal digits");
  refused(with(kGolden, "\"jpeg 1; resize 1\"", "7"), "\"transforms\" is no text");
}

TEST_CASE("a state cut short anywhere is refused") {
  const std::string whole = kGolden;
  for (std::size_t length = 0; length < whole.size(); ++length)
    CHECK_THROWS_AS(LoaderState::from_json(whole.substr(0, length)), penstock::Error);
}
