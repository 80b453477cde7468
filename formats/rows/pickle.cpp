#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include <base/printable.hpp>
#include <formats/rows/forms.hpp>
#include <formats/rows/json_rows.hpp>
#include <formats/text/pickle.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

using Kind = PickleValue::Kind;

// Copies a pickle's values to JSON. A value that is used in several places is copied for each of them, so depth and
// number are limited.
template <typename Json>
class Copy {
 public:
  Json value(const PickleValue& value, int depth = 0) {
    count(1);
    if (depth > kDeepest) throw Error::corrupt("pickle: nests more than " + std::to_string(kDeepest) + " levels deep");
    switch (value.kind()) {
      case Kind::none:
        return nullptr;
      case Kind::boolean:
        return value.integer() != 0;
      case Kind::integer:
        return value.integer();
      case Kind::real:
        return real(value.real());
      case Kind::text:
      case Kind::bytes:
        return text(value.text());
      case Kind::list:
        return list(value, depth);
      case Kind::dict:
        return object(value, depth);
      case Kind::array:
        return array(value.array());
      case Kind::other:
        break;
    }
    throw Error::unsupported("pickle: contains a type instead of a value");
  }

 private:
  static constexpr int kDeepest = 16;

  void count(std::uint64_t values) {
    copied_ += values;
    if (copied_ > Pickle::kMostObjects)
      throw Error::unsupported("pickle: has more than " + with_commas(Pickle::kMostObjects) +
                               " values; save the table as CSV");
  }

  Json text(std::string_view text) {
    count(text.size() / 64);
    return std::string(text);
  }

  // Pandas and NumPy write missing values as NaN.
  static Json real(double value) { return std::isnan(value) ? Json() : Json(value); }

  Json list(const PickleValue& value, int depth) {
    Json all = Json::array();
    for (std::uint64_t i = 0; i < value.size(); ++i) all.push_back(this->value(value.at(i), depth + 1));
    return all;
  }

  Json object(const PickleValue& value, int depth) {
    Json all = Json::object();
    for (std::uint64_t i = 0; i < value.size(); ++i) {
      const Json key = this->value(value.key(i), depth + 1);
      all[key.is_string() ? key.template get<std::string>() : key.dump()] = this->value(value.value(i), depth + 1);
    }
    return all;
  }

  Json array(const PickleArray& array) {
    std::uint64_t position = 0;
    return dimension(array, 0, position);
  }

  Json dimension(const PickleArray& array, std::size_t axis, std::uint64_t& position) {
    count(1);
    if (axis == array.shape.size()) {
      const PickleElement element = element_at(array, position++);
      if (element.kind == Kind::boolean) return element.integer != 0;
      if (element.kind == Kind::integer) return element.integer;
      return element.kind == Kind::real ? real(element.real) : text(element.text);
    }
    Json all = Json::array();
    for (std::uint64_t i = 0; i < array.shape[axis]; ++i) all.push_back(dimension(array, axis + 1, position));
    return all;
  }

  std::uint64_t copied_ = 0;
};

}  // namespace

RowTable pickle_table(std::span<const std::byte> bytes) {
  const Pickle pickle(bytes);
  // Objects of all samples need a type with fast look-up, as in json.cpp.
  if (pickle.root().kind() == Kind::dict) return table_of(Copy<nlohmann::json>().value(pickle.root()));
  return table_of(Copy<nlohmann::ordered_json>().value(pickle.root()));
}

}  // namespace penstock
