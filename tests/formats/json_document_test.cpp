// Whatever memory is refused while a JSON text is read and goes, it ends in an exception, never in the process.
#include <cstdint>
#include <cstdlib>
#include <new>
#include <nlohmann/json.hpp>
#include <string>

#include <doctest/doctest.h>

#include <formats/format.hpp>
#include <formats/text/json_document.hpp>
#include <penstock/error.hpp>

#include "support/refused_memory.hpp"
#include "support/temporary_folder.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

thread_local std::int64_t allocations_left = -1;  // before all fail; negative: none does

}  // namespace

bool penstock::test::refuses_allocation() noexcept {
  if (allocations_left > 0) --allocations_left;
  return allocations_left == 0;
}

namespace {

/// From each allocation of `work` on, all are refused, in turn; the number of those that it made.
template <class Work>
int refused_from_each(const Work& work) {
  for (int first = 1;; ++first) {
    bool whole = false;
    allocations_left = first;
    try {
      work();
      whole = true;
    } catch (const std::bad_alloc&) {
    }
    allocations_left = -1;
    if (whole) return first - 1;
  }
}

const std::string kText =
    R"({"a": [1, -2, 2.5e3, true, null, "a text that takes memory of its own", [], {}, [[1, 2], {"b": [3]}]],
        "b": {"c": {"d": "another text that takes memory"}}, "a text for a name, also of some length": [], "b": 7})";

}  // namespace

TEST_CASE("a document has what the JSON library's own parser makes of the text") {
  for (const std::string& text : {kText, std::string("[]"), std::string("7"), std::string("\"x\""), std::string("{}")})
    CHECK(JsonDocument(text).root() == nlohmann::json::parse(text));
  for (const char* text : {"", "{", "[1,]", "{\"a\":}", "1e999", "nul", "[] []", "\"\xFF\""}) {
    CAPTURE(text);
    std::string said;
    try {
      static_cast<void>(nlohmann::json::parse(std::string(text)).size());
    } catch (const nlohmann::json::exception& error) {
      said = error.what();
    }
    CHECK_THROWS_WITH_AS(JsonDocument{text}, said.c_str(), nlohmann::json::exception);
  }
  CHECK_THROWS_AS(JsonDocument(std::string(1000, '[')), Error);
}

TEST_CASE("memory refused from any moment on, while a document is made and goes, ends in an exception") {
  CHECK(refused_from_each([] { const JsonDocument document(kText); }) > 10);
  const TemporaryFolder folder;
  std::string shards;
  for (const char* name : {"shard.00000.mds", "shard.00001.mds"}) {
    shards += std::string(shards.empty() ? "" : ", ") + R"({"column_encodings": ["bytes", "int"], )" +
              R"("column_names": ["a column", "another column"], "column_sizes": [null, 8], "compression": null, )" +
              R"("format": "mds", "hashes": [], "raw_data": {"basename": ")" + name +
              R"(", "bytes": 0, "hashes": {}}, "samples": 0, "size_limit": null, "version": 2, "zip_data": null})";
  }
  write_file(folder / "index.json", R"({"shards": [)" + shards + R"(], "version": 2})");
  CHECK(refused_from_each([&] { format_named("mds")->stamp(folder.path()); }) > 10);
  CHECK(refused_from_each([&] { format_named("mds")->watched(folder.path()); }) > 10);
}
