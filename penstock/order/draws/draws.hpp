// How often samples come in an epoch, where that is not once each: by weights, by repeats, or each class as often.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <penstock/formats/lists/number_table.hpp>

namespace penstock {

/// For LoaderOptions::draws; drawn_by() and the like (penstock/loader/choices/draws.hpp) make it of numbers or of a
/// field. docs/order.md defines the orders.
struct Draws {
  enum class Kind : std::uint8_t {
    weighted,  ///< each position draws anew: a sample comes as often as chance has it, `weight / sum` of the time
    once,      ///< weighted without replacement: no sample twice in an epoch, heavier ones sooner
    repeated,  ///< a sample comes as often as its number says, a fraction now and then; the epoch shuffles all of that
    balanced,  ///< each class once in as many positions as there are classes, each of its samples before one comes
               ///< again
  };
  Kind kind = Kind::weighted;
  /// Of each sample of the dataset, in their order: weights and repeats as the bits of a float64; of `balanced` the
  /// number of the sample's class. Must not change. A loader lets go of them once it is made.
  std::shared_ptr<const NumberTable> numbers;
  std::uint64_t samples = 0;  ///< of an epoch; 0: all, or the sum of all repeats
  std::string about;          ///< what errors call the numbers: "weights", "balance=\"cls\""
};

/// The part of a LoaderState that describes the draws.
struct SavedDraws {
  Draws::Kind kind = Draws::Kind::weighted;
  std::uint64_t numbers = 0;  ///< fingerprint of what the samples' numbers came to
  friend bool operator==(const SavedDraws&, const SavedDraws&) = default;
};

}  // namespace penstock
