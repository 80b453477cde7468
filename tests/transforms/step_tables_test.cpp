#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include <penstock/chain.hpp>
#include <penstock/error.hpp>
#include <transforms/chain/step_table.hpp>
#include <transforms/image/steps/pixel_step.hpp>

namespace penstock::test::step_tables_test {
namespace {

// Something that a parameter takes, as text.
std::string some(const StepParameter& parameter) {
  const std::string type = parameter.python_type();
  if (type.starts_with("int")) return "3";
  if (type.starts_with("float")) return "0.5";
  if (type.find("Sequence") != std::string::npos) return "[0.5]";
  return parameter.name == "dtype" ? "float32" : "a";
}

// The arguments of a step: all by keyword, those that must be given, and `one`, which is left out or set.
std::vector<Argument> arguments(const StepTable& table, std::string_view one, std::optional<double> value) {
  std::vector<Argument> list;
  for (const auto& parameter : table.parameters()) {
    Argument argument{.keyword = std::string(parameter->name)};
    if (parameter->name == one) {
      if (!value) continue;
      argument.numbers = {*value};
    } else if (!parameter->rules.required) {
      continue;
    } else {
      const std::string text = some(*parameter);
      argument.list = text.starts_with("[");
      if (text.find_first_of("0123456789") == 0 || argument.list)
        argument.numbers = {std::stod(text.substr(argument.list ? 1 : 0))};
      else
        argument.word = text;
    }
    list.push_back(argument);
  }
  return list;
}

// What a table says of the arguments; empty where it takes them.
std::string refusal(const StepTable& table, std::string_view one, std::optional<double> value) {
  try {
    StepArguments given(table.name, arguments(table, one, value), StepArguments::From::values);
    table.read(given);
    return {};
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::invalid_argument);
    return error.cause();
  }
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

bool is_short_for_another(const StepTable& table) {
  const std::set<std::string_view> names{"points.voxel", "points.poisson", "image.cast", "array.cast", "points.cast"};
  return names.contains(table.name);
}

std::string cell(const std::string& text) {
  return text.empty() ? " |" : " " + text + " |";
}

// The rows of a step: what it does, then its parameters.
std::string rows_of(const StepTable& table) {
  std::string rows = "| `" + std::string(table.name) + "` | | | | " + std::string(table.meaning) + " |\n";
  for (const auto& parameter : table.parameters()) {
    const std::string unit(parameter->rules.unit), allowed = parameter->allowed();
    rows += "| |" + cell("`" + std::string(parameter->name) + "`") +
            cell(parameter->rules.required ? "must be given" : "`" + table.usual_text(*parameter) + "`") +
            cell(allowed == "any" ? unit : allowed + (unit.empty() ? "" : ", in " + unit)) +
            cell(std::string(parameter->meaning)) + "\n";
  }
  return rows;
}

std::string table_of(const std::string& domain) {
  std::string text = "| step | parameter | default | allowed | meaning |\n| --- | --- | --- | --- | --- |\n";
  for (const StepTable* table : step_tables()) {
    const bool elsewhere = table->name.starts_with("image.") || table->name.starts_with("points.");
    if (domain == "other" ? !elsewhere : table->name.starts_with(domain + ".")) text += rows_of(*table);
  }
  return text;
}

}  // namespace

TEST_CASE("a step's text and its parser agree, with the parameters given, by name and left out") {
  for (const StepTable* table : step_tables()) {
    std::string by_place, by_name, only_required;
    for (const auto& parameter : table->parameters()) {
      const bool required = parameter->rules.required;
      std::string value = required ? some(*parameter) : table->usual_text(*parameter);
      if (parameter->python_type().ends_with("[str]")) value = "[a]";
      const std::string given = std::string(parameter->name) + "=" + value;
      by_name += (by_name.empty() ? "" : ", ") + given;
      if (required) only_required += (only_required.empty() ? "" : ", ") + value;
    }
    const std::string name(table->name), text = to_string(parse_chain(name + "(" + only_required + ")"));
    CAPTURE(text);
    if (!is_short_for_another(*table)) CHECK(text.starts_with(name + "("));
    CHECK(to_string(parse_chain(text)) == text);
    if (name != "points.decode") CHECK(to_string(parse_chain(name + "(" + by_name + ")")) == text);
    if (!only_required.empty()) CHECK_THROWS_WITH_AS(parse_chain(name + "()"), doctest::Contains("needs "), Error);
    CHECK_THROWS_WITH_AS(parse_chain(name + "(" + by_name + (by_name.empty() ? "" : ", ") + "else=1)"),
                         doctest::Contains("takes no argument \"else\""), Error);
  }
}

TEST_CASE("the functions of C++ leave out what the tables do") {
  for (const auto& [chain, text] : {std::pair{image::random_horizontal_flip(), "image.random_horizontal_flip()"},
                                    {image::random_vertical_flip(), "image.random_vertical_flip()"},
                                    {image::decode(), "image.decode()"},
                                    {image::random_resized_crop(8), "image.random_resized_crop(8)"},
                                    {image::resize(8), "image.resize(8)"},
                                    {image::random_crop(8), "image.random_crop(8)"},
                                    {image::pad(Padding::all(2)), "image.pad(2)"},
                                    {image::random_rotation({-8, 8}), "image.random_rotation(8)"},
                                    {image::random_affine({-8, 8}), "image.random_affine(8)"},
                                    {image::color_jitter(image::JitterKeywords{}), "image.color_jitter()"},
                                    {image::grayscale(), "image.grayscale()"},
                                    {image::random_grayscale(), "image.random_grayscale()"},
                                    {image::random_invert(), "image.random_invert()"},
                                    {image::random_posterize(3), "image.random_posterize(3)"},
                                    {image::random_solarize(3), "image.random_solarize(3)"},
                                    {image::random_sharpness(3), "image.random_sharpness(3)"},
                                    {image::random_autocontrast(), "image.random_autocontrast()"},
                                    {image::random_equalize(), "image.random_equalize()"},
                                    {image::gaussian_blur(3), "image.gaussian_blur(3)"},
                                    {image::rand_augment(), "image.rand_augment()"},
                                    {image::trivial_augment(), "image.trivial_augment()"},
                                    {image::random_erasing(), "image.random_erasing()"},
                                    {points::decode(), "points.decode()"},
                                    {points::sample(3), "points.sample(3)"},
                                    {points::voxel(3), "points.voxel(3)"},
                                    {points::poisson(3), "points.poisson(3)"},
                                    {points::random_rotate(), "points.random_rotate()"},
                                    {points::random_jitter(), "points.random_jitter()"},
                                    {points::random_scale(), "points.random_scale()"},
                                    {points::random_shift(), "points.random_shift()"},
                                    {points::random_dropout(), "points.random_dropout()"},
                                    {label(), "label()"}})
    CHECK(to_string(chain) == to_string(parse_chain(text)));
}

TEST_CASE("every way of writing a step that was ever accepted is read, and prints as it did") {
  const std::map<std::string, std::string> known{
      {"image.decode(fast=True, apply_exif_orientation=true)", "image.decode(fast=True, apply_exif_orientation=True)"},
      {"image.random_resized_crop((2, 3), scale=(0.1, 1), interpolation=area)",
       "image.random_resized_crop(2, 3, scale=(0.1, 1), ratio=(0.75, 1.3333333333333333), interpolation=area)"},
      {"image.center_crop(2, 3)", "image.center_crop(2, 3)"},
      {"image.center_crop([3, 3])", "image.center_crop(3)"},
      {"image.random_crop(4, 5, pad_if_needed=True)", "image.random_crop(4, 5, pad_if_needed=true)"},
      {"image.random_crop(4, padding=(1, 2))", "image.random_crop(4, 4, padding=(1, 2, 1, 2))"},
      {"image.pad(1, 7, edge)", "image.pad((1, 1, 1, 1), fill=(7), padding_mode=edge)"},
      {"image.random_rotation(5, bilinear, (1, 2, 3))",
       "image.random_rotation((-5, 5), interpolation=bilinear, fill=(1, 2, 3))"},
      {"image.random_affine(0, shear=(1, 2, 3, 4), scale=2)",
       "image.random_affine((-0, 0), scale=(2, 2), shear=(1, 2, 3, 4))"},
      {"image.color_jitter(0.5, (0.5, 2), 0, 0.25, 0.5)",
       "image.color_jitter(brightness=(0.5, 1.5), contrast=(0.5, 2), saturation=(1, 1), hue=(-0.25, 0.25), "
       "probability=0.5)"},
      {"image.gaussian_blur(3, 5, sigma=1)", "image.gaussian_blur(3, 5, sigma=(1, 1))"},
      {"image.rand_augment(1, 2, 3, bicubic, 4)", "image.rand_augment(1, 2, 3, interpolation=bicubic, fill=(4))"},
      {"image.trivial_augment(7, bicubic)", "image.trivial_augment(7, interpolation=bicubic)"},
      {"image.random_erasing(0.5, 0.1, (1, 2), random)",
       "image.random_erasing(0.5, scale=(0.1, 0.1), ratio=(1, 2), value=random)"},
      {"image.random_posterize(4)", "image.random_posterize(4, 0.5)"},
      {"image.cast(float16)", "cast(float16)"},
      {"points.decode([intensity, \"a b\"], 5)", "points.decode([intensity, \"a b\"], columns=5)"},
      {"points.decode(columns=5)", "points.decode(columns=5)"},
      {"points.sample(9, fps, if_fewer=ragged)", "points.sample(9, method=fps, if_fewer=ragged)"},
      {"points.voxel(0.5, first)", "points.sample(0, method=voxel, size=0.5, voxel=first, if_fewer=ragged)"},
      {"points.poisson(0.5)", "points.sample(0, method=poisson, size=0.5, if_fewer=ragged)"},
      {"points.random_rotate(free)", "points.random_rotate(free)"},
      {"points.attribute(\"a b\")", "points.attribute(\"a b\")"},
      {"label(7)", "label(7)"},
      {"cast(int64)", "cast(int64)"}};
  for (const auto& [given, text] : known) CHECK(to_string(parse_chain(given)) == text);
}

// The step with the parameters that it requires.
Step required_step(const StepTable& table) {
  StepArguments given(table.name, arguments(table, "", {}), StepArguments::From::values);
  return table.read(given).steps.at(0);
}

// Whether a pixel of any of 200 samples moves.
bool moves_pixels(const StepTable& table) {
  bool moved = false;
  for (std::uint64_t sample = 0; sample < 200; ++sample) {
    Placement placement;
    placement.begin({.width = 40, .height = 30});
    StepDraw draw{.placement = placement, .random = Random(1, 0, sample, 0), .told = nullptr};
    table.pixels()->draw(required_step(table), draw);
    placement.finish();
    double x = 10, y = 7;
    placement.map_point(x, y);
    moved |= x != 10 || y != 7;
  }
  return moved;
}

TEST_CASE("the trait of a step on pixels tells whether it moves any") {
  for (const StepTable* table : step_tables()) {
    CAPTURE(table->name);
    if (table->pixels() != nullptr) CHECK(required_step(*table).traits().leaves_places == !moves_pixels(*table));
  }
}

TEST_CASE("traits of a step that depend on its parameters follow them") {
  const auto of = [](const char* text) { return parse_chain(text).steps.at(0).traits(); };
  CHECK_FALSE(of("boxes()").drops_items);
  CHECK(of("boxes(min_size=1)").drops_items);
  CHECK(of("boxes(min_area=1)").drops_items);
  CHECK(of("boxes(min_visibility=0.5)").drops_items);
  CHECK_FALSE(of("array.decode()").lists_items);
  CHECK(of("array.decode(ragged=True)").lists_items);
  CHECK(of("array.decode(ragged=True, shape=(4))").lists_items);
  CHECK_FALSE(of("array.decode(int64, ragged=True, shape=())").lists_items);
  CHECK(of("array.decode(ragged=True)").domain == Domain::array);
  CHECK_FALSE(of("array.decode(ragged=True)").draws);
  const auto padding = of("pad(multiple_of=8, value=-1)").padding;
  REQUIRE(padding.has_value());
  CHECK(padding->length == 0);
  CHECK(padding->multiple_of == 8);
  CHECK(padding->value == -1);
  CHECK(of("pad(7)").padding.value_or(ItemPadding{}).length == 7);
}

TEST_CASE("a step whose name begins with a domain has that domain") {
  for (const StepTable* table : step_tables()) {
    CAPTURE(table->name);
    const Domain domain = required_step(*table).traits().domain;
    const bool cast = table->name.ends_with("cast");  // text writes all of them as cast()
    CHECK((domain == Domain::image) == (table->name.starts_with("image.") && !cast));
    CHECK((domain == Domain::array) == (table->name.starts_with("array.") && !cast));
  }
}

TEST_CASE("a number outside its parameter's range is refused with the step, one inside is not") {
  for (const StepTable* table : step_tables()) {
    CHECK_MESSAGE(refusal(*table, {}, {}).empty(), refusal(*table, {}, {}));
    for (const auto& parameter : table->parameters()) {
      const bool samples =
          table->name == "points.sample" || table->name == "points.voxel" || table->name == "points.poisson";
      const std::string type = parameter->python_type(), start = samples ? "" : std::string(table->name) + "()";
      if (type != "int" && type != "float") continue;
      const Rules& rules = parameter->rules;
      const auto told = [&](double value) { return refusal(*table, parameter->name, value); };
      CAPTURE(start + " " + std::string(parameter->name));
      const double least = rules.least, most = rules.most, infinity = std::numeric_limits<double>::infinity();
      const auto refuses = [&](double value) { return !told(value).empty() && contains(told(value), start); };
      if (least != std::numeric_limits<double>::lowest()) CHECK(refuses(least - 1));
      if (rules.above_least) CHECK(refuses(least));
      if (most < std::numeric_limits<double>::max()) CHECK(refuses(most + 1));
      if (type == "int") CHECK(contains(told(0.5), "whole number"));
      if (type != "float" || table->name == "points.sample") continue;  // its method says what a size may be
      CHECK(refuses(std::nan("")));
      CHECK(refuses(-infinity));
      CHECK(told(infinity).empty() == std::isinf(most));
    }
  }
  CHECK_THROWS_WITH_AS(points::random_scale(2, 1), doctest::Contains("low <= high"), Error);
  for (const char* text : {"image.random_erasing(value=(1, 2))", "image.random_erasing(value=(1, 2, 3, 4))"})
    CHECK_THROWS_WITH_AS(parse_chain(text), doctest::Contains("one for each of 3 channels"), Error);
}

TEST_CASE("the page on transforms has an entry for every step, from its table") {
  const std::filesystem::path page =
      std::filesystem::path(__FILE__).parent_path().parent_path().parent_path() / "docs" / "transforms.md";
  std::ifstream file(page);
  REQUIRE_MESSAGE(file.is_open(), page.string());
  std::string text(std::istreambuf_iterator<char>(file), {});
  const bool writes = std::getenv("PENSTOCK_WRITE_PAGES") != nullptr;
  for (const std::string domain : {"image", "points", "other"}) {
    const std::string begin = "<!-- begin of steps: " + domain + " -->\n", end = "<!-- end of steps -->\n";
    const std::size_t first = text.find(begin), last = text.find(end, first);
    REQUIRE(first != std::string::npos);
    REQUIRE(last != std::string::npos);
    const std::size_t from = first + begin.size();
    if (writes) {
      text.replace(from, last - from, table_of(domain));
    } else {
      CHECK_MESSAGE(text.substr(from, last - from) == table_of(domain),
                    "docs/transforms.md is not what the tables say; PENSTOCK_WRITE_PAGES=1 writes it");
    }
  }
  if (writes) std::ofstream(page) << text;
}

}  // namespace penstock::test::step_tables_test
