#include <penstock/base/error.hpp>
#include <penstock/formats/labels/emptiness.hpp>

namespace penstock {

std::string emptiness(const Dataset& dataset) {
  const std::uint64_t samples = dataset.size();
  if (samples == 0) {
    const std::string what = dataset.format() == "tar" ? "members" : "values";
    return dataset.packed() ? "0 samples: it was packed of none"
                            : "0 samples: its " + std::string(dataset.format()) + " files hold no " + what;
  }
  if (dataset.fields().empty())
    return std::to_string(samples) + " samples without fields: nothing of them can be loaded";
  return {};
}

void require_something_to_pack(const Dataset& dataset) {
  const std::string empty = emptiness(dataset);
  if (!empty.empty()) throw Error::invalid_argument("nothing to pack: " + empty, {.dataset = dataset.path().string()});
}

}  // namespace penstock
