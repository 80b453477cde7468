#include <algorithm>
#include <tuple>

#include <formats/extent.hpp>
#include <storage/read/coalesce.hpp>

namespace penstock {

void coalesce(std::vector<ReadRequest>& requests, std::uint64_t gap, std::uint64_t bytes,
              std::vector<MergedRead>& reads) {
  std::sort(requests.begin(), requests.end(), [](const ReadRequest& a, const ReadRequest& b) {
    return std::tie(a.extent.file, a.extent.offset, a.extent.length, a.tag) <
           std::tie(b.extent.file, b.extent.offset, b.extent.length, b.tag);
  });
  reads.clear();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Extent& extent = requests[i].extent;
    if (!reads.empty()) {
      MergedRead& last = reads.back();
      const std::uint64_t end = last.offset + last.length;
      const bool near = last.file == extent.file && extent.offset >= end && extent.offset - end <= gap;
      if (near && extent.offset + extent.length - last.offset <= bytes && last.count < kMergedRequests) {
        last.length = extent.offset + extent.length - last.offset;
        ++last.count;
        continue;
      }
    }
    reads.push_back({extent.file, extent.offset, extent.length, i, 1});
  }
}

}  // namespace penstock
