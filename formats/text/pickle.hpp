// Reads Python pickles of plain data, without running any code.
//
//   const Pickle pickle(file.bytes());
//   for (std::uint64_t i = 0; i < pickle.root().size(); ++i) use(pickle.root().key(i), pickle.root().value(i));
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include <formats/text/pickle_array.hpp>

namespace penstock {

class PickleValue;

/// The values of one pickle of protocol 0 to 5, by Python 2 or 3. Plain data is read: None, bool, int of 64 bits,
/// float, str, bytes, bytearray, list, tuple, set, dict, OrderedDict, defaultdict, Counter, NumPy arrays, scalars and
/// dtypes.
///
/// Reading never imports a module or calls a function of Python. GLOBAL, STACK_GLOBAL, REDUCE and BUILD accept only the
/// names of the list in pickle.cpp, and this class makes their values itself. The reader does not use recursion. Memory
/// is in proportion to the file, with at most kMostObjects objects: nesting costs nothing, and shared values are stored
/// once. A value may therefore contain itself, or describe far more entries than there are bytes. Users limit their
/// visits.
///
/// Source: CPython 3.12, Lib/pickletools.py; NumPy 2.1, array.__reduce_ex__.
class Pickle {
 public:
  static constexpr std::uint64_t kMostObjects = std::uint64_t{1} << 25;

  /// `bytes` must outlive the pickle, and hold exactly one. Throws Error, with the offset: corrupt; unsupported, for
  /// anything that is not plain data, with its MODULE.NAME and a remedy.
  explicit Pickle(std::span<const std::byte> bytes);
  ~Pickle();
  Pickle(Pickle&&) = delete;

  PickleValue root() const;

  struct State;

 private:
  const std::unique_ptr<State> state_;
  std::uint32_t root_ = 0;
};

/// A value of a Pickle, valid as long as it.
class PickleValue {
 public:
  using Kind = PickleKind;

  PickleValue(const Pickle::State& state, std::uint32_t number) : state_(&state), number_(number) {}

  Kind kind() const;
  std::int64_t integer() const;                  ///< Zero unless boolean or integer.
  double real() const;                           ///< Zero unless real.
  std::string_view text() const;                 ///< Empty unless text or bytes.
  std::uint64_t size() const;                    ///< Number of entries. Zero unless list or dict.
  PickleValue at(std::uint64_t entry) const;     ///< of a list
  PickleValue key(std::uint64_t entry) const;    ///< of a dict
  PickleValue value(std::uint64_t entry) const;  ///< of a dict
  const PickleArray& array() const;

 private:
  const Pickle::State* state_;
  std::uint32_t number_;
};

}  // namespace penstock
