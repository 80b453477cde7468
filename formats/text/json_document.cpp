#include <string>
#include <utility>
#include <vector>

#include <formats/text/json_depth.hpp>
#include <formats/text/json_document.hpp>

namespace penstock {
namespace {

using Json = nlohmann::json;

// Empties the innermost values first, so that no destructor finds nested values. The recursion is shallow: the depth
// was checked before.
void take_apart(Json& value) noexcept {
  if (value.is_array()) {
    auto& elements = value.get_ref<Json::array_t&>();
    for (Json& element : elements) take_apart(element);
    elements.clear();
  } else if (value.is_object()) {
    auto& members = value.get_ref<Json::object_t&>();
    for (auto& [name, member] : members) take_apart(member);
    members.clear();
  }
}

/// Builds the values in place.
class Builder : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(Json& root) : next_(&root) {}

  bool null() override { return put(Json()) != nullptr; }
  bool boolean(bool value) override { return put(Json(value)) != nullptr; }
  bool number_integer(number_integer_t value) override { return put(Json(value)) != nullptr; }
  bool number_unsigned(number_unsigned_t value) override { return put(Json(value)) != nullptr; }
  bool number_float(number_float_t value, const string_t&) override { return put(Json(value)) != nullptr; }
  bool string(string_t& value) override { return put(Json(std::move(value))) != nullptr; }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return begin(Json::value_t::object); }
  bool start_array(std::size_t) override { return begin(Json::value_t::array); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool key(string_t& name) override {
    next_ = &open_.back()->get_ref<Json::object_t&>()[std::move(name)];
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    if (const auto* number = dynamic_cast<const Json::out_of_range*>(&error)) throw *number;
    throw dynamic_cast<const Json::parse_error&>(error);
  }

 private:
  Json* put(Json&& value) {
    if (!open_.empty() && open_.back()->is_array())
      return &open_.back()->get_ref<Json::array_t&>().emplace_back(std::move(value));
    take_apart(*next_);  // a duplicate member replaces the earlier one
    return &(*next_ = std::move(value));
  }

  bool begin(Json::value_t type) {
    open_.push_back(put(Json(type)));
    return true;
  }

  bool end() {
    open_.pop_back();
    return true;
  }

  Json* next_;  // the value of the root or of a member of the innermost object
  std::vector<Json*> open_;
};

}  // namespace

JsonDocument::JsonDocument(std::string_view text) {
  require_shallow_json(text);
  try {
    Builder builder(root_);
    Json::sax_parse(text.begin(), text.end(), &builder);
  } catch (...) {
    take_apart(root_);
    throw;
  }
}

JsonDocument::~JsonDocument() {
  take_apart(root_);
}

}  // namespace penstock
