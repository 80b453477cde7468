#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include <base/names/closest.hpp>
#include <base/numbers/decimal.hpp>
#include <base/printable.hpp>
#include <formats/field_types.hpp>
#include <penstock/error.hpp>
#include <transforms/program/missing_rows.hpp>

namespace penstock {
namespace {

std::optional<Element> element_of(DType dtype, const MissingRows& number) {
  if (const auto* whole = std::get_if<std::int64_t>(&number)) return penstock::element_of(dtype, *whole);
  return penstock::element_of(dtype, std::get<double>(number));
}

// For rows that no number fills.
std::string instead_of_number(const Output& output) {
  return output.may_be_missing ? "; use \"empty\" for rows without items"
                               : "; use \"exclude\" to leave such samples out";
}

/// Returns why the output cannot have such rows. Empty if it can.
std::string obstacle(const Output& output, const MissingRows& rows) {
  if (rows == MissingRows(Missing::empty)) {
    return output.may_be_missing ? ""
                                 : "its rows are " + array_text(output.dtype, output.shape) +
                                       ", and only rows of items can be empty; use a number, which fills the row";
  }
  if (std::holds_alternative<Missing>(rows)) return {};
  if (output.window != 0)
    return "its rows are windows of several samples; window() itself leaves out samples without the field";
  if (output.ragged)
    return "its rows differ in length or size, as those of text and lists do, and a number cannot fill them" +
           instead_of_number(output);
  if (element_of(output.dtype, rows)) return {};
  return "its rows are " + std::string(name(output.dtype)) + ", which cannot represent the number; use another number" +
         (is_integer(output.dtype) ? ", or convert the rows with cast()" : "");
}

Error misuse(const Output& output, const MissingRows& rows, const std::string& cause) {
  return Error::invalid_argument("missing[" + double_quoted(output.name) + "] = " + text_of(rows) + ": " + cause);
}

void set(Output& output, const MissingRows& rows) {
  if (const auto* policy = std::get_if<Missing>(&rows))
    output.missing = *policy;
  else
    output.fill = element_of(output.dtype, rows);
}

void set_default(Output& output, const MissingRows& otherwise) {
  const std::string cause = obstacle(output, otherwise);
  if (cause.empty()) return set(output, otherwise);
  if (!std::holds_alternative<Missing>(otherwise)) output.unfilled = "missing = " + text_of(otherwise) + ": " + cause;
}

void describe_leader(Output& output, const Output& leader) {
  output.missing = leader.missing;
  if (!leader.goes_without_field()) return;
  if (output.ragged)
    output.missing = Missing::empty;
  else
    output.fill = penstock::element_of(output.dtype, std::int64_t{0});
}

std::string meant(const std::string& unknown, std::span<const std::string> known) {
  const std::string_view closest = closest_name(unknown, known);
  return closest.empty() ? "it is none of " + joined_text(known, ", ", double_quoted)
                         : "did you mean " + double_quoted(closest) + "?";
}

void require_known(std::span<const Output> outputs, std::span<const MissingRowsOf> by_output) {
  std::vector<std::string> known;
  for (const Output& output : outputs) known.push_back(output.name);
  for (const auto& [output, rows] : by_output) {
    if (std::ranges::find(known, output) == known.end())
      throw Error::invalid_argument("missing: " + double_quoted(output) + " is not an output; " + meant(output, known));
    if (std::ranges::count(by_output, output, &MissingRowsOf::first) > 1)
      throw Error::invalid_argument("missing: output " + double_quoted(output) + " has two entries; remove one");
  }
}

// The items of an empty row can be followed: there are none. A filled row, or an empty image, has no geometry.
void find_needed_leaders(const LedOutputs& led, std::uint32_t number, const MissingRows& rows) {
  Output& output = led.outputs[number];
  for (auto leader = led.leaders[number]; leader; leader = led.leaders[*leader])
    if (const Output& led_by = led.outputs[*leader];
        led_by.fill || (led_by.missing == Missing::empty && led_by.own_dimensions != 0))
      output.needed_leaders.push_back(*leader);
  if (output.needed_leaders.empty() || output.goes_without_field()) return;
  const std::string& leader = led.outputs[output.needed_leaders.front()].name;
  throw misuse(output, rows,
               "it follows " + double_quoted(leader) +
                   ", which has nothing to follow in samples without its field; use " +
                   (output.may_be_missing ? "\"empty\"" : "a number"));
}

}  // namespace

std::string text_of(const MissingRows& rows) {
  if (const auto* policy = std::get_if<Missing>(&rows)) return double_quoted(name(*policy));
  if (const auto* whole = std::get_if<std::int64_t>(&rows)) return std::to_string(*whole);
  return shortest_decimal(std::get<double>(rows));
}

void treat_missing(const LedOutputs& led, const MissingRows& otherwise, std::span<const MissingRowsOf> by_output) {
  require_known(led.outputs, by_output);
  for (const std::uint32_t number : led.order) {
    Output& output = led.outputs[number];
    const auto& leader = led.leaders[number];
    const auto own = std::ranges::find(by_output, output.name, &MissingRowsOf::first);
    const MissingRows& rows = own != by_output.end() ? own->second : otherwise;
    if (own != by_output.end()) {
      if (const std::string cause = obstacle(output, rows); !cause.empty()) throw misuse(output, rows, cause);
      set(output, rows);
    } else if (output.describes && leader) {
      describe_leader(output, led.outputs[*leader]);
    } else {
      set_default(output, otherwise);
    }
    find_needed_leaders(led, number, rows);
  }
}

}  // namespace penstock
