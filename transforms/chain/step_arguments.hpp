// The arguments that a user gives to one step, in text or in Python: as they stand there, and as its parameters ask for
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <penstock/base/error.hpp>

namespace penstock {

/// One argument: a number, a word, or a list of numbers or words.
struct Argument {
  std::string keyword = {};  ///< of keyword=...; else empty
  std::string word = {};     ///< "float32"; empty for numbers
  std::vector<double> numbers = {};
  std::vector<std::string> words = {};  ///< of a list
  bool list = false;
  bool none = false;  ///< None in Python: as if it were not given, where that is allowed
};

/// That a step does not take its arguments so. Whoever reads them says in front of it which step, and where.
class Misfit : public Error {
 public:
  explicit Misfit(std::string cause) : Error(Error::invalid_argument(std::move(cause))) {}
};

/// Asked for by place or keyword; what nobody asked for is an error. All throw Misfit, naming the keyword.
class StepArguments {
 public:
  static constexpr std::size_t kByKeyword = ~std::size_t{0};  ///< for arguments that have no place
  enum class From : std::uint8_t {
    text,    ///< a pair of sides may stand without brackets: image.resize(3, 4)
    values,  ///< of a language: numbers may be negative, which the step itself refuses
  };

  StepArguments(std::string_view step, std::vector<Argument> arguments, From from)
      : step_(step), from_(from), arguments_(std::move(arguments)), used_(arguments_.size(), false) {}

  std::string_view step() const { return step_; }  ///< its name, for messages
  bool is_text() const { return from_ == From::text; }

  /// Null without it; an empty keyword finds by place alone.
  const Argument* find(std::size_t place, std::string_view keyword);
  /// Throws without it.
  const Argument& get(std::size_t place, std::string_view keyword);
  /// Of an argument or of an entry of one. Throws where it is no whole number.
  std::int64_t whole(double number, std::string_view keyword) const;
  std::int64_t whole(const Argument& argument, std::string_view keyword) const;
  static double real(const Argument& argument, std::string_view keyword);
  static const std::string& word(const Argument& argument, std::string_view keyword);

  /// Throws where arguments are left that nobody asked for.
  void none_left() const;

 private:
  std::string_view step_;
  From from_;
  std::vector<Argument> arguments_;
  std::vector<bool> used_;
};

}  // namespace penstock
