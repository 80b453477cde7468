#include <cerrno>
#include <cstdlib>
#include <string>
#include <vector>

#include <bench/tryout/packed_subset.hpp>
#include <formats/extent.hpp>
#include <order/permutation/permutation.hpp>
#include <penstock/error.hpp>

namespace penstock {

TemporaryPlace::TemporaryPlace() {
  std::string path = (std::filesystem::temp_directory_path() / "penstock-check-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) throw Error::io(errno, "cannot make " + path);
  path_ = path;
}

TemporaryPlace::~TemporaryPlace() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Dataset packed_subset(const Dataset& dataset, std::uint64_t seed, const SubsetLimits& limits, const Recoding& recoding,
                      const std::filesystem::path& destination) {
  const auto check = [&] {
    if (limits.keep_going && !limits.keep_going()) throw Error::resource("interrupted");
  };
  WriterOptions options;
  options.pack.recoding = recoding;
  options.classes.assign(dataset.classes().begin(), dataset.classes().end());
  Writer writer(destination, options);
  const Permutation order(dataset.size(), seed, 0);
  std::uint64_t bytes = 0;
  std::vector<Piece> pieces;
  for (std::uint64_t i = 0; i < dataset.size() && i < limits.samples && bytes < limits.bytes; ++i) {
    check();
    const std::uint64_t sample = order(i);
    std::vector<std::vector<std::byte>> held;
    std::vector<WriterValue> values;
    for (std::uint32_t field = 0; field < dataset.fields().size(); ++field) {
      if (!dataset.locate(sample, field, pieces)) continue;
      bytes += held.emplace_back(read_field(dataset, sample, field)).size();
      values.push_back({.field = dataset.fields()[field].name, .bytes = held.back()});
    }
    writer.add(dataset.key(sample), values);
  }
  writer.finish([&](const ConvertProgress&) { return !limits.keep_going || limits.keep_going(); });
  return open(destination);
}

}  // namespace penstock
