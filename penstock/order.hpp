// The words and options that decide which samples an epoch delivers, and in which order.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/schema.hpp>

namespace penstock {

class Mixture;
struct Draws;
struct LengthBuckets;
struct Windows;

/// What becomes of the samples that do not fill a batch at the end of an epoch. With several ranks `keep` pads the last
/// batches by repeats, so that all ranks have equally many rows; `__valid__` marks the rows that count.
enum class Last : std::uint8_t { keep, drop, pad };
/// What becomes of a sample that lacks a requested field. `empty`: a raw() output then has a row of no bytes; other
/// outputs raise.
enum class Missing : std::uint8_t { raise, exclude, empty };

std::string_view name(Last last);
std::string_view name(Missing missing);

class NumberTable;  // formats/lists/number_table.hpp

/// For LoaderOptions::sampler; drawn_by() and the like (penstock/sampling.hpp) make it of numbers or of a
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

/// `shares`: every stretch of the order has the weights, as nearly as whole samples can; `random`: sources come by
/// chance, so batches differ as with independent draws.
enum class Sampling : std::uint8_t { shares, random };

/// When an epoch ends: before a source would have to begin again, when each source was exhausted at least once (others
/// begin again meanwhile, in a fresh order), or after so many samples.
enum class Stop : std::uint8_t { first_exhausted, all_exhausted, samples };

std::string_view name(Sampling sampling);  ///< "shares", "random"

/// From a position of the training on: epochs of MixtureOptions::samples stand one behind the other.
struct WeightChange {
  std::uint64_t position = 0;
  std::vector<double> weights = {};  ///< of each source, in the mixture's order
};

struct MixtureOptions {
  Sampling sampling = Sampling::shares;
  Stop stop = Stop::first_exhausted;
  std::uint64_t samples = 0;  ///< of an epoch, with Stop::samples
  /// A state of a mixture of other weights or sources is restored: the epoch that was under way ends, and each source
  /// that is still there, by its name, goes on where it was. Else that is an error.
  bool carry = false;
  /// Weights that follow those of the sources, each from its position on, in rising order. Takes Stop::samples and
  /// Sampling::shares.
  std::vector<WeightChange> schedule = {};
};

/// A *global batch* is what all ranks have of a step. Those of an epoch are made for the ranks that begin it; others
/// that go on with it divide the same ones.
struct BatchLimits {
  std::uint32_t batch_size = 0;  ///< 0: those of the loader itself
  std::uint32_t world = 1;
  double budget = 0;  ///< of a rank; 0: none

  std::uint64_t rows() const { return std::uint64_t{batch_size} * world; }  ///< of a global batch, at most
  double budget_of_all() const { return budget * world; }
  /// One rank's, and the number of ranks, matter where there is a budget: rows are a multiple of the ranks then.
  bool same_batches(const BatchLimits& other) const {
    return budget == 0 && other.budget == 0 ? rows() == other.rows() : *this == other;
  }
  /// Ranks of the one can have what is composed for the other.
  bool same_in_all(const BatchLimits& other) const {
    return rows() == other.rows() && budget_of_all() == other.budget_of_all();
  }
  friend bool operator==(const BatchLimits&, const BatchLimits&) = default;
};

class LengthTable;  // order/buckets/length_table.hpp

/// For LoaderOptions::batching; bucket_by() (penstock/sampling.hpp) makes it. docs/order.md defines the
/// batches.
struct LengthBuckets {
  std::string by = {};                              ///< whose lengths they are: "tokens"; empty: the program's own
  std::shared_ptr<const LengthTable> lengths = {};  ///< of each sample of the dataset
  /// So many samples that follow each other in the order are sorted by length and cut into batches; rounded down to
  /// whole batches of all ranks.
  std::uint64_t window = 100'000;
  /// The longest row of a batch times its rows is at most this, and batch_size the most rows; 0: batches have
  /// batch_size rows.
  double budget = 0;
};

enum class TokenPacking : std::uint8_t {
  cut,       ///< documents one behind the other, cut every `length` tokens
  best_fit,  ///< whole documents packed into blocks with little padding
};

struct TokenOptions {
  std::string field = "tokens";  ///< a raw array of integers, or .npy
  TokenPacking packing = TokenPacking::cut;
  std::optional<DType> dtype = {};            ///< of the stored integers, where the field does not tell
  std::optional<std::int64_t> end = {};       ///< a token behind each document that has any
  std::int64_t pad = 0;                       ///< what fills a block that is not full
  bool pad_last = false;                      ///< cut: the last block is filled up; else what is left over is left out
  bool whole = false;                         ///< best_fit: a document longer than a block is an error, else it is cut
  std::uint64_t window = 100'000;             ///< best_fit: documents that are packed together
  std::optional<std::uint64_t> shuffle = {};  ///< documents in an order drawn from this seed; else in the dataset's
  bool positions = false;                     ///< a field "positions": int32, from 0 on in each document of a block
  bool segment_ids = false;                   ///< "segment_ids": int32, 1 for the first document, ..., 0 for padding
  bool cu_lengths = false;                    ///< "cu_lengths": int32, ragged: 0, and where each document ends
};

}  // namespace penstock
