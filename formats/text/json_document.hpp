// A parsed JSON text that goes without taking memory.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace penstock {

/// The JSON library's values take memory when they go, for what stands inside arrays and objects, and end the process
/// where that is refused; its parser does when it is refused memory half-way. This one holds whole texts that threads
/// of a loader may parse, whose values are looked at in place and not copied.
class JsonDocument {
 public:
  /// Throws Error: corrupt, for what is nested too deeply (json_depth.hpp); nlohmann::json::exception, for no JSON.
  explicit JsonDocument(std::string_view text);
  ~JsonDocument();
  JsonDocument(JsonDocument&&) = delete;

  const nlohmann::json& root() const { return root_; }

 private:
  nlohmann::json root_;
};

}  // namespace penstock
