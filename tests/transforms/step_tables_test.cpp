#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

#include <doctest/doctest.h>

#include <penstock/base/error.hpp>
#include <penstock/transforms/chain/check_numbers.hpp>
#include <penstock/transforms/chain/step_tables.hpp>

namespace penstock::test::step_tables_test {
namespace {

/// Calls visit.operator()<Kind>() for every step that has a table.
template <typename Visit, std::size_t... Number>
void for_each_table(Visit visit, std::index_sequence<Number...>) {
  const auto one = [&]<typename Kind>(std::type_identity<Kind>) {
    if constexpr (HasTable<Kind>) visit.template operator()<Kind>();
  };
  (one(std::type_identity<std::variant_alternative_t<Number, Step>>{}), ...);
}

template <typename Visit>
void for_each_table(Visit visit) {
  for_each_table(visit, std::make_index_sequence<std::variant_size_v<Step>>{});
}

template <typename Number>
std::string shown(Number number) {
  std::ostringstream text;
  text << number;
  return text.str();
}

// A step whose parameters are the usual ones, else the least that are allowed.
template <typename Kind>
Kind usual_step() {
  Kind step{};
  for_each_parameter<Kind>([&](const auto& parameter) {
    step.*parameter.member = parameter.usual.value_or(std::max<decltype(parameter.least + 0)>(parameter.least, 1));
  });
  return step;
}

std::string refusal(const Step& step) {
  try {
    check_numbers(step);
    return {};
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::invalid_argument);
    return error.cause();
  }
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

template <typename Kind, typename Value>
std::string allowed(const Parameter<Kind, Value>& parameter) {
  if (parameter.least == std::numeric_limits<Value>::lowest()) return "any";
  if (parameter.most >= std::numeric_limits<Value>::max()) return shown(parameter.least) + " or more";
  return shown(parameter.least) + " to " + shown(parameter.most);
}

}  // namespace

TEST_CASE("a step's text and its parser agree, with the parameters given, by name and left out") {
  for_each_table([]<typename Kind>() {
    const std::string name(StepTable<Kind>::kName), text = to_string(Step(usual_step<Kind>()));
    CAPTURE(text);
    CHECK(text.starts_with(name + "("));
    CHECK(to_string(parse_chain(text)) == text);
    std::string by_name, required;
    for_each_parameter<Kind>([&](const auto& parameter) {
      const std::string given = std::string(parameter.name) + "=" + shown(usual_step<Kind>().*parameter.member);
      by_name += (by_name.empty() ? "" : ", ") + given;
      if (!parameter.usual) required += (required.empty() ? "" : ", ") + given;
    });
    CHECK(to_string(parse_chain(name + "(" + by_name + ")")) == text);
    CHECK(to_string(parse_chain(name + "(" + required + ")")) == text);
    if (!required.empty()) CHECK_THROWS_WITH_AS(parse_chain(name + "()"), doctest::Contains("needs "), Error);
  });
}

TEST_CASE("the functions of C++ leave out what the tables do") {
  for (const auto& [chain, text] : {std::pair{image::random_flip(), "image.random_flip()"},
                                    {image::random_vertical_flip(), "image.random_vertical_flip()"},
                                    {points::jitter(), "points.jitter()"},
                                    {points::random_scale(), "points.random_scale()"},
                                    {points::shift(), "points.shift()"},
                                    {points::dropout(), "points.dropout()"}})
    CHECK(to_string(chain) == to_string(parse_chain(text)));
}

TEST_CASE("a number outside its parameter's range is refused with step and parameter, one inside is not") {
  for_each_table([]<typename Kind>() {
    CHECK(refusal(usual_step<Kind>()).empty());
    for_each_parameter<Kind>([]<typename Value>(const Parameter<Kind, Value>& parameter) {
      const auto told = [&](Value value) {
        Kind step = usual_step<Kind>();
        step.*parameter.member = value;
        return refusal(step);
      };
      const std::string start = std::string(StepTable<Kind>::kName) + "() needs " + std::string(parameter.name);
      CAPTURE(start);
      const bool has_least = parameter.least != std::numeric_limits<Value>::lowest();
      if (has_least) CHECK(told(parameter.least).empty());
      if (has_least) CHECK(contains(told(parameter.least - 1), start));
      if (parameter.most < std::numeric_limits<Value>::max()) {
        CHECK(told(parameter.most).empty());
        CHECK(contains(told(parameter.most + 1), start));
      }
      if constexpr (std::is_floating_point_v<Value>) {
        CHECK(contains(told(std::nan("")), start));
        CHECK(contains(told(-std::numeric_limits<Value>::infinity()), start));
        CHECK(told(std::numeric_limits<Value>::infinity()).empty() == std::isinf(parameter.most));
      }
    });
  });
  CHECK(contains(refusal(step::RandomScale{.low = 2, .high = 1}), "low <= high"));
}

TEST_CASE("the page on transforms has the tables' parameters") {
  const std::filesystem::path page =
      std::filesystem::path(__FILE__).parent_path().parent_path().parent_path() / "docs" / "transforms.md";
  std::ifstream file(page);
  REQUIRE_MESSAGE(file.is_open(), page.string());
  const std::string text(std::istreambuf_iterator<char>(file), {});
  for_each_table([&]<typename Kind>() {
    for_each_parameter<Kind>([&](const auto& parameter) {
      const std::string line = "| `" + std::string(StepTable<Kind>::kName) + "` | `" + std::string(parameter.name) +
                               "` | " + (parameter.usual ? shown(*parameter.usual) : "must be given") + " | " +
                               allowed(parameter) + " | " + std::string(parameter.unit) +
                               (parameter.unit.empty() ? "| " : " | ") + std::string(parameter.meaning) + " |\n";
      CHECK_MESSAGE(contains(text, line), "docs/transforms.md lacks the line\n" << line);
    });
  });
}

}  // namespace penstock::test::step_tables_test
