// The arguments of one step of a chain that is written as text: as they stand there, and as the step's builder asks for
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <penstock/base/error.hpp>
#include <penstock/transforms/chain/chain.hpp>

namespace penstock::chain_parse {

/// One argument: a number, a word, or a list of numbers or words.
struct Argument {
  std::string keyword;  ///< of keyword=...; else empty
  std::string word;     ///< "float32"; empty for numbers
  std::vector<double> numbers;
  std::vector<std::string> words;  ///< of a list
  bool list = false;
};

/// That a step does not take its arguments so. Whoever reads the text says in front of it which step, and where.
Error misfit(std::string cause);

/// Asked for by place or keyword; what nobody asked for is an error. All throw misfit(), naming the keyword.
class StepArguments {
 public:
  static constexpr std::size_t kByKeyword = ~std::size_t{0};  ///< for arguments that have no place

  explicit StepArguments(std::vector<Argument> arguments)
      : arguments_(std::move(arguments)), used_(arguments_.size(), false) {}

  /// Null without it; an empty keyword finds by place alone.
  const Argument* find(std::size_t place, std::string_view keyword);
  /// Throws without it.
  const Argument& get(std::size_t place, std::string_view keyword);

  std::int64_t whole(std::size_t place, std::string_view keyword);
  std::int64_t whole(std::size_t place, std::string_view keyword, std::int64_t usual);
  double real(std::size_t place, std::string_view keyword, double usual);
  std::string text(std::size_t place, std::string_view keyword, std::string usual);
  /// true or True, false or False; false without it.
  bool flag(std::string_view keyword);
  std::vector<float> floats(std::size_t place, std::string_view keyword);
  DType dtype();  ///< the first

  std::pair<double, double> range(std::string_view keyword, std::pair<double, double> usual);
  /// A number x as usual(x), or a pair of numbers.
  Range span(std::size_t place, std::string_view keyword, Range absent, Range (*usual)(double));
  /// A number for all sides; left and right, top and bottom; or left, top, right, bottom.
  Padding padding(std::size_t place, std::string_view keyword);
  Fill fill(std::size_t place);
  /// Height and width: two numbers, or a pair; nothing where one number stands for both.
  std::optional<std::pair<std::int64_t, std::int64_t>> two_sides();

  /// Throws where arguments are left that nobody asked for.
  void none_left() const;

 private:
  std::vector<Argument> arguments_;
  std::vector<bool> used_;
};

}  // namespace penstock::chain_parse
