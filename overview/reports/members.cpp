#include <cmath>
#include <utility>

#include <base/amounts.hpp>
#include <base/printable.hpp>
#include <overview/reports/members.hpp>
#include <penstock/error.hpp>

namespace penstock::overview {
namespace {

constexpr double kLargest = 1e18;

double checked_number(const nlohmann::json& value, const std::string& name) {
  if (!value.is_number()) throw Error::corrupt("\"" + name + "\" is not a number");
  const auto number = value.get<double>();
  if (!(number >= 0 && number <= kLargest))
    throw Error::corrupt("\"" + name + "\" is " + text_of("%g", number) + "; expected a number from 0 to 1e18");
  return number;
}

}  // namespace

Members::Members(const nlohmann::json& value, std::string place) : value_(value), place_(std::move(place)) {
  if (!value.is_object())
    throw Error::corrupt((place_.empty() ? "the report" : "\"" + place_ + "\"") + " is not an object");
}

const nlohmann::json* Members::find(const std::string& name) const {
  const auto found = value_.find(name);
  return found == value_.end() || found->is_null() ? nullptr : &*found;
}

std::string Members::full_name(const std::string& name) const {
  return place_.empty() ? name : place_ + "." + name;
}

bool Members::has(const std::string& name) const {
  return find(name) != nullptr;
}

Members Members::object(const std::string& name) const {
  const nlohmann::json* const found = find(name);
  if (found == nullptr) throw Error::corrupt("no member \"" + full_name(name) + "\"");
  return {*found, full_name(name)};
}

std::vector<Members> Members::objects(const std::string& name) const {
  const nlohmann::json* const found = find(name);
  if (found == nullptr) return {};
  if (!found->is_array()) throw Error::corrupt("\"" + full_name(name) + "\" is not a list");
  std::vector<Members> out;
  for (const nlohmann::json& entry : *found)
    out.emplace_back(entry, full_name(name) + "[" + std::to_string(out.size()) + "]");
  return out;
}

std::optional<double> Members::number(const std::string& name) const {
  const nlohmann::json* const found = find(name);
  if (found == nullptr) return std::nullopt;
  return checked_number(*found, full_name(name));
}

double Members::required(const std::string& name) const {
  const std::optional<double> found = number(name);
  if (!found) throw Error::corrupt("no member \"" + full_name(name) + "\" with a number");
  return *found;
}

std::string Members::text(const std::string& name) const {
  const nlohmann::json* const found = find(name);
  if (found == nullptr) return {};
  if (found->is_structured()) throw Error::corrupt("\"" + full_name(name) + "\" is not a text");
  return one_line(found->is_string() ? found->get<std::string>() : found->dump());
}

std::vector<double> Members::numbers(const std::string& name) const {
  const nlohmann::json* const found = find(name);
  if (found == nullptr) return {};
  if (!found->is_array()) throw Error::corrupt("\"" + full_name(name) + "\" is not a list");
  std::vector<double> out;
  for (const nlohmann::json& entry : *found) out.push_back(checked_number(entry, full_name(name)));
  return out;
}

std::vector<std::string> Members::names() const {
  std::vector<std::string> out;
  for (const auto& entry : value_.items()) out.push_back(entry.key());
  return out;
}

void Members::add_to(FigureTable& table, const std::string& name, Figure figure, double factor) const {
  const std::optional<double> found = number(name);
  if (!found) return;
  figure.value = *found * factor;
  table.figures.push_back(std::move(figure));
}

void Members::add_to(std::vector<Fact>& facts, const std::string& name, bool of_work) const {
  if (std::string found = text(name); !found.empty()) facts.push_back({name, std::move(found), of_work});
}

}  // namespace penstock::overview
