// Packs lengths into bins of one size: best fit, in the given order or by falling length.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

/// Maximum size of a bin.
inline constexpr std::uint64_t kLongestBin = std::uint64_t{1} << 24;

/// Reused from window to window, so that memory is allocated once. Each length takes a number of steps that grows with
/// the logarithm of the bin size.
class BestFit {
 public:
  explicit BestFit(std::uint64_t size);  ///< size of a bin, at most kLongestBin

  /// Puts each length (from 1 to the size of a bin) into the bin with the least sufficient room. Among bins with equal
  /// room, it chooses the one that got a length last. If no bin has room, it begins a new one.
  ///
  /// The lengths are packed twice: by falling length (equal ones in the given order), and in the given order. The
  /// packing with fewer bins counts, or the first one if they have equally many. Then bins() is the number of bins.
  /// items() has the numbers of all lengths, bin by bin in the order in which the bins were begun, each in the order in
  /// which it was filled. begins() has the first position of each bin in items().
  void pack(std::span<const std::uint32_t> lengths);

  std::uint64_t bins() const { return begins_.size(); }
  std::span<const std::uint32_t> items() const { return items_; }
  std::span<const std::uint32_t> begins() const { return begins_; }

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  std::uint32_t place(std::span<const std::uint32_t> lengths, std::span<const std::uint32_t> order,
                      std::vector<std::uint32_t>& bin_of);
  void sort_falling(std::span<const std::uint32_t> lengths);
  std::uint32_t least_room(std::uint32_t wanted) const;
  void mark(std::uint32_t room);
  void unmark(std::uint32_t room);

  const std::uint64_t size_;
  // Sets of bits. Level 0: the amounts of room that bins have. Each further level: the non-empty words below.
  std::vector<std::vector<std::uint64_t>> levels_;
  std::vector<std::uint32_t> last_;           // by room: the last bin that came to have it, or kNone
  std::vector<std::uint32_t> before_, room_;  // by bin: the next older bin with the same room; its room
  std::vector<std::uint32_t> falling_, given_, bin_of_, bin_of_given_, items_, begins_;
};

}  // namespace penstock
