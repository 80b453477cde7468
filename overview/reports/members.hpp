// Reads members of JSON objects from files that users may have edited.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include <overview/reports/comparison.hpp>

namespace penstock::overview {

/// The members of an object. Each function throws Error: corrupt, with the name of a member of a wrong type.
class Members {
 public:
  /// Throws Error: corrupt, if `value` is not an object. `place` names it in messages: "loaders[0]"; empty: the report.
  Members(const nlohmann::json& value, std::string place);

  bool has(const std::string& name) const;  ///< and it is not null
  Members object(const std::string& name) const;
  std::vector<Members> objects(const std::string& name) const;  ///< of a list; empty if the member is missing
  /// Nothing for a missing member, and for null.
  std::optional<double> number(const std::string& name) const;
  double required(const std::string& name) const;
  std::string text(const std::string& name) const;  ///< text, number or "true"; empty if the member is missing
  std::vector<double> numbers(const std::string& name) const;
  std::vector<std::string> names() const;

  /// Adds a figure for a member that has a value.
  void add_to(FigureTable& table, const std::string& name, Figure figure, double factor = 1) const;
  /// Adds a fact for a member that has a value.
  void add_to(std::vector<Fact>& facts, const std::string& name, bool of_work = false) const;

 private:
  const nlohmann::json* find(const std::string& name) const;
  std::string full_name(const std::string& name) const;
  const nlohmann::json& value_;
  std::string place_;
};

}  // namespace penstock::overview
