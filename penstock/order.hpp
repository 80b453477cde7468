// The enumerations and options that decide which samples an epoch delivers, and in which order.
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

/// How to treat the samples that do not fill a batch at the end of an epoch. With several ranks, `keep` pads the last
/// batches with repeats, so that all ranks have equally many rows. `__valid__` marks the rows that count.
enum class Last : std::uint8_t { keep, drop, pad };

std::string_view name(Last last);

class NumberTable;  // formats/lists/number_table.hpp

/// How often samples come, for LoaderOptions::sampler. drawn_by() and similar functions (penstock/sampling.hpp) make it
/// from numbers or from a field. docs/order.md defines the orders.
struct Draws {
  enum class Kind : std::uint8_t {
    weighted,  ///< each position is drawn independently and gets a sample with probability `weight / sum`
    once,  ///< weighted without replacement: no sample comes twice in an epoch, and heavier ones tend to come earlier
    repeated,  ///< each sample comes as often as its number says, fractions on average; the epoch shuffles them all
    /// every k positions contain each of the k classes once; no sample repeats before all others of its class came
    balanced,
  };
  Kind kind = Kind::weighted;
  /// One number per sample of the dataset, in its order: weights and repeats as the bits of a float64; for `balanced`,
  /// the class number. Must not change. The loader releases the table once it is constructed.
  std::shared_ptr<const NumberTable> numbers;
  std::uint64_t samples = 0;  ///< of an epoch; 0: the default in docs/order.md
  std::string about;          ///< name of the numbers in errors: "weights", "balance=\"cls\""
};

/// The part of a LoaderState that describes the draws.
struct SavedDraws {
  Draws::Kind kind = Draws::Kind::weighted;
  std::uint64_t numbers = 0;  ///< fingerprint of the numbers as the order uses them
  friend bool operator==(const SavedDraws&, const SavedDraws&) = default;
};

/// How a mixture chooses the source of each position. `shares`: every stretch of the order follows the weights, as
/// closely as whole samples allow. `random`: each sample's source is random, so batches vary as with independent draws.
enum class Sampling : std::uint8_t { shares, random };

/// The end of an epoch. `first_exhausted`: before a source would have to repeat. `all_exhausted`: when each source was
/// exhausted at least once. The other sources then repeat, in a fresh order. `samples`: after a number of samples,
/// MixtureOptions::samples.
enum class Stop : std::uint8_t { first_exhausted, all_exhausted, samples };

std::string_view name(Sampling sampling);  ///< "shares", "random"

/// Weights that apply from a position of the training. Positions count through all epochs, of MixtureOptions::samples
/// each.
struct WeightChange {
  std::uint64_t position = 0;
  std::vector<double> weights = {};  ///< one per source, in the mixture's order
};

/// The options of a mixture.
struct MixtureOptions {
  Sampling sampling = Sampling::shares;
  Stop stop = Stop::first_exhausted;
  std::uint64_t samples = 0;  ///< of an epoch, with Stop::samples
  /// Whether a state of a mixture with other weights or sources can be restored. If so, the interrupted epoch ends, and
  /// each source that still exists, by name, resumes where it was. Otherwise restoring such a state is an error.
  bool carry = false;
  /// Later weights, which replace those of the sources, each from its position on, in rising order. Requires
  /// Stop::samples and Sampling::shares.
  std::vector<WeightChange> schedule = {};
};

/// The limits of batches. A *global batch* contains the rows of all ranks in one step. An epoch's global batches are
/// composed for the ranks that begin the epoch; if other ranks resume it, they divide the same batches.
struct BatchLimits {
  std::uint32_t batch_size = 0;  ///< 0: the loader's own
  std::uint32_t world = 1;
  double budget = 0;  ///< per rank; 0: none

  std::uint64_t rows() const { return std::uint64_t{batch_size} * world; }  ///< maximum, of a global batch
  double budget_of_all() const { return budget * world; }
  /// Whether both compose the same global batches. With a budget, the batch size and the number of ranks matter one by
  /// one, because the number of rows is then a multiple of the ranks.
  bool same_batches(const BatchLimits& other) const {
    return budget == 0 && other.budget == 0 ? rows() == other.rows() : *this == other;
  }
  /// Whether ranks with one of the limits can divide batches that were composed for the other.
  bool same_in_all(const BatchLimits& other) const {
    return rows() == other.rows() && budget_of_all() == other.budget_of_all();
  }
  friend bool operator==(const BatchLimits&, const BatchLimits&) = default;
};

class LengthTable;  // order/buckets/length_table.hpp

/// Batches of samples with similar lengths, for LoaderOptions::batching. bucket_by() (penstock/sampling.hpp) makes it.
/// docs/order.md defines the batches.
struct LengthBuckets {
  std::string by = {};  ///< field that gives the lengths: "tokens"; empty: lengths of the program
  std::shared_ptr<const LengthTable> lengths = {};  ///< one per sample of the dataset
  /// Number of consecutive samples that are sorted by length and cut into batches; rounded down to whole global
  /// batches.
  std::uint64_t window = 100'000;
  /// Limit of a batch: its longest row times its number of rows; batch_size is then the maximum number of rows. 0:
  /// batches have batch_size rows.
  double budget = 0;
};

/// How documents are put into blocks of tokens.
enum class TokenPacking : std::uint8_t {
  cut,       ///< documents one after the other, cut every `length` tokens
  best_fit,  ///< whole documents packed into blocks with little padding
};

/// The options of token_blocks().
struct TokenOptions {
  std::string field = "tokens";  ///< a raw array of integers, or .npy
  TokenPacking packing = TokenPacking::cut;
  std::optional<DType> dtype = {};       ///< of the stored integers, if the field does not define it
  std::optional<std::int64_t> end = {};  ///< token appended to each document that is not empty
  std::int64_t pad = 0;                  ///< value that fills up a block
  bool pad_last = false;                 ///< cut: fill up the last block; otherwise the remaining tokens are left out
  bool whole = false;                    ///< best_fit: a document longer than a block is an error; otherwise it is cut
  std::uint64_t window = 100'000;        ///< best_fit: number of documents that are packed together
  std::optional<std::uint64_t> shuffle = {};  ///< seed of the documents' random order; unset: the dataset's order
  bool positions = false;    ///< adds a field "positions": int32, counting from 0 in each document of a block
  bool segment_ids = false;  ///< adds "segment_ids": int32, 1 for the first document, ..., 0 for padding
  bool cu_lengths = false;   ///< adds "cu_lengths": int32, ragged: 0, and the end of each document
};

}  // namespace penstock
