// The order of an epoch in which samples come with different frequencies: by weights, by repeats, or with balanced
// classes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <formats/lists/shared_numbers.hpp>
#include <order/draws/part_table.hpp>
#include <order/permutation/sample_order.hpp>
#include <penstock/order.hpp>

namespace penstock {

/// The part that is the same for all epochs. Behaves as immutable; any thread may use it.
class DrawOrder {
 public:
  struct Listed {
    std::uint64_t count = 0;                             ///< length of the list of samples
    std::function<std::uint64_t(std::uint64_t)> sample;  ///< returns the sample number of an entry
    std::function<std::string(std::uint64_t)> key = {};  ///< returns the key of a sample, for errors
  };
  /// Throws Error: invalid_argument, naming the sample, for an invalid number; also if the epoch would be empty, or
  /// longer than its source allows.
  DrawOrder(const Draws& draws, const Listed& listed);

  Draws::Kind kind() const { return kind_; }
  std::uint64_t length() const { return length_; }  ///< of every epoch
  SavedDraws saved() const;

 private:
  friend class DrawEpoch;
  void weigh(const Draws& draws, const Listed& listed);
  void group(const Draws& draws, const Listed& listed);
  /// For Kind::once: the entries in one epoch's order. Keeps the most recently used epochs.
  std::shared_ptr<const SharedNumbers> once(std::uint64_t seed, std::uint64_t epoch) const;

  Draws::Kind kind_;
  std::uint64_t entries_, length_ = 0;
  std::optional<PartTable> parts_;  // except for Kind::balanced
  // For Kind::balanced: the entries, class by class, and the position of each class.
  std::shared_ptr<const SharedNumbers> by_class_;
  std::vector<std::uint64_t> class_begins_;
  std::uint64_t fingerprint_ = 0;

  struct Kept {
    std::uint64_t seed, epoch;
    std::shared_ptr<const SharedNumbers> order;
  };
  mutable std::mutex mutex_;  // guards the rest
  mutable std::vector<Kept> kept_;
};

struct DrawnRow {
  std::uint64_t entry;       ///< in the list of samples
  std::uint32_t occurrence;  ///< distinguishes the times that the epoch's order has the entry
};

/// The order of one epoch. Used by one thread at a time.
class DrawEpoch {
 public:
  /// `within`: seed and shuffles; `samples` is ignored.
  DrawEpoch(std::shared_ptr<const DrawOrder> order, const SampleOrderOptions& within, std::uint64_t epoch);
  DrawnRow row_at(std::uint64_t position);  ///< position < length
  /// The rows of positions `first` and later, below length.
  void list(std::uint64_t first, std::span<DrawnRow> out);

 private:
  DrawnRow weighted(std::uint64_t position) const;
  DrawnRow repeated(std::uint64_t place) const;
  DrawnRow balanced(std::uint64_t position);
  void go_to_round(std::uint64_t round);

  std::shared_ptr<const DrawOrder> order_;
  SampleOrderOptions within_;
  std::uint64_t epoch_;
  std::uint64_t key_;                          // of its draws
  std::optional<SampleOrder> repeats_;         // Kind::repeated: order of the epoch's places
  std::uint64_t offset_ = 0;                   // Kind::repeated, in parts
  std::shared_ptr<const SharedNumbers> once_;  // Kind::once
  // Kind::balanced: round in which the epoch begins, and position in that round
  std::uint64_t first_round_ = 0, begun_ = 0;
  std::uint64_t round_ = ~std::uint64_t{0};  // Kind::balanced: the round that classes_ is for
  std::vector<std::uint32_t> classes_;       // in that round's order
  struct Pass {
    std::uint64_t number;
    SampleOrderAhead order;
  };
  // Kind::balanced: the last pass over each class; empty if there are many classes.
  std::vector<std::optional<Pass>> passes_;
};

}  // namespace penstock
