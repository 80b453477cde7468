// The order of an epoch in which samples do not come once each: by weights, by repeats, or each class as often.
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

/// What is the same for all epochs. Immutable to those who ask; any thread may.
class DrawOrder {
 public:
  struct Listed {
    std::uint64_t count = 0;                             ///< entries of the list of samples
    std::function<std::uint64_t(std::uint64_t)> sample;  ///< of an entry, its number in the dataset
    std::function<std::string(std::uint64_t)> key = {};  ///< of a sample, for errors
  };
  /// Throws Error: invalid_argument, naming the sample, for a number that cannot be; and where the epoch would be empty
  /// or longer than what it draws from.
  DrawOrder(const Draws& draws, const Listed& listed);

  Draws::Kind kind() const { return kind_; }
  std::uint64_t length() const { return length_; }  ///< of every epoch
  SavedDraws saved() const;

 private:
  friend class DrawEpoch;
  void weigh(const Draws& draws, const Listed& listed);
  void group(const Draws& draws, const Listed& listed);
  /// Of Kind::once: the entries in one epoch's order. Kept for the epochs asked for last.
  std::shared_ptr<const SharedNumbers> once(std::uint64_t seed, std::uint64_t epoch) const;

  Draws::Kind kind_;
  std::uint64_t entries_, length_ = 0;
  std::optional<PartTable> parts_;  // but of Kind::balanced
  // Of Kind::balanced: the entries, class by class, and where those of each class begin.
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
  std::uint64_t entry;       ///< of the list of samples
  std::uint32_t occurrence;  ///< tells the times apart that the epoch's order has it
};

/// One epoch of it. Used by one thread at a time.
class DrawEpoch {
 public:
  /// `within`: seed and shuffles; `samples` means nothing.
  DrawEpoch(std::shared_ptr<const DrawOrder> order, const SampleOrderOptions& within, std::uint64_t epoch);
  DrawnRow row_at(std::uint64_t position);  ///< position < length
  /// Those of positions `first` and on, below length.
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
  std::optional<SampleOrder> repeats_;         // Kind::repeated: of all that the epoch has
  std::uint64_t offset_ = 0;                   // Kind::repeated, in parts
  std::shared_ptr<const SharedNumbers> once_;  // Kind::once
  std::uint64_t first_round_ = 0, begun_ = 0;  // Kind::balanced: where the epoch begins, and how far in that round
  std::uint64_t round_ = ~std::uint64_t{0};    // Kind::balanced: the one that classes_ are of
  std::vector<std::uint32_t> classes_;         // in that round's order
  struct Pass {
    std::uint64_t number;
    SampleOrderAhead order;
  };
  std::vector<std::optional<Pass>> passes_;  // Kind::balanced: of each class the last one; empty where they are many
};

}  // namespace penstock
