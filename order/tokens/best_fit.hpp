// Packs lengths into bins of one size: best fit, in the order given or by falling length.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

/// Sizes of bins up to this are packed.
inline constexpr std::uint64_t kLongestBin = std::uint64_t{1} << 24;

/// Reused from window to window, so that memory is taken once. Each length takes a number of steps that grows with the
/// logarithm of the bins' size.
class BestFit {
 public:
  explicit BestFit(std::uint64_t size);  ///< of a bin, at most kLongestBin

  /// Puts each length (1 to the size of a bin) into the bin that has the least room for it; of bins with equal room
  /// into the one that got a length last; where none has room, into a new one. This is done by falling length (equal
  /// ones in the order given) and once more in the order given; what takes fewer bins counts, the first where both take
  /// as many. bins() is then the number of bins; `items()` has the numbers of all lengths, bin by bin in the order in
  /// which these were begun, each in the order in which it was filled; begins() where each bin begins in it.
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
  std::vector<std::vector<std::uint64_t>>
      levels_;                                // bits: rooms that bins have; words of the level below that have any
  std::vector<std::uint32_t> last_;           // by room: the bin that came to have it last, or kNone
  std::vector<std::uint32_t> before_, room_;  // by bin: the one that has as much room since before; its room
  std::vector<std::uint32_t> falling_, given_, bin_of_, bin_of_given_, items_, begins_;
};

}  // namespace penstock
