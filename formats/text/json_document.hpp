// A parsed JSON text whose destruction allocates no memory.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace penstock {

/// The JSON library's values allocate memory in their destructors for the contents of arrays and objects, and abort the
/// process if it is refused. Its parser does the same when it runs out of memory. This class holds whole texts that
/// loader threads parse. Users read its values in place, without copies.
class JsonDocument {
 public:
  /// Throws Error: corrupt, if the text nests too deeply (json_depth.hpp); nlohmann::json::exception, if it is not
  /// JSON.
  explicit JsonDocument(std::string_view text);
  ~JsonDocument();
  JsonDocument(JsonDocument&&) = delete;

  const nlohmann::json& root() const { return root_; }

 private:
  nlohmann::json root_;
};

}  // namespace penstock
