#include <formats/dataset.hpp>
#include <formats/format.hpp>
#include <formats/index/attributes.hpp>
#include <formats/labels/emptiness.hpp>
#include <penstock/error.hpp>

namespace penstock {

std::string emptiness(const Dataset& dataset) {
  const std::uint64_t samples = dataset.size();
  if (samples == 0) {
    return dataset.packed() ? "0 samples: no sample was packed"
                            : "0 samples: its " + std::string(dataset.format()) + " files hold no " +
                                  std::string(format_of(dataset).content);
  }
  if (dataset.fields().empty()) return std::to_string(samples) + " samples without fields: there is nothing to load";
  return {};
}

std::vector<std::string> warnings_of(const Dataset& dataset) {
  constexpr std::size_t kListed = 8;
  std::vector<std::string> warnings;
  if (std::string empty = emptiness(dataset); !empty.empty()) return {std::move(empty)};
  std::size_t more = 0;
  for (std::size_t shard = 0; shard < dataset.shard_count(); ++shard) {
    const std::string_view attributes = dataset.shard(shard).index.attributes();
    if (attributes.find("\"warnings\"") == std::string_view::npos)
      continue;  // cheaper than parsing the attributes of all shards
    const auto json = attributes_of(dataset.shard(shard).index);
    const auto listed = json.find("warnings");
    if (listed == json.end() || !listed->is_array()) continue;
    const std::string place = dataset.shard_count() > 1 ? dataset.shard(shard).name + ": " : "";
    for (const auto& warning : *listed) {
      if (!warning.is_string()) continue;
      if (warnings.size() < kListed)
        warnings.push_back(place + warning.get<std::string>());
      else
        ++more;
    }
  }
  if (more != 0) warnings.push_back(std::to_string(more) + " more warnings of its shards");
  return warnings;
}

void require_something_to_pack(const Dataset& dataset) {
  const std::string empty = emptiness(dataset);
  if (!empty.empty()) throw Error::invalid_argument("nothing to pack: " + empty, {.dataset = dataset.path().string()});
}

}  // namespace penstock
