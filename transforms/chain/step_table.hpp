// The table of a kind of step: name, meaning and parameters. The step's text and its parser, the checks of arguments,
// the Python functions and the page on transforms are generated from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <penstock/error.hpp>
#include <penstock/step.hpp>

namespace penstock {

/// One argument: a number, a word, or a list of numbers or words.
struct Argument {
  std::string keyword = {};  ///< of `keyword=...`; otherwise empty
  std::string word = {};     ///< "float32"; empty for numbers
  std::vector<double> numbers = {};
  std::vector<std::string> words = {};  ///< of a list of words
  bool list = false;
  bool none = false;  ///< None in Python: the same as not given, for parameters that allow it
};

/// Thrown if an argument has the wrong form. The caller prepends the step and its place in the text.
class Misfit : public Error {
 public:
  explicit Misfit(std::string cause) : Error(Error::invalid_argument(std::move(cause))) {}
};

/// The arguments of a step, looked up by position or keyword. Unused arguments are an error. All functions throw Misfit
/// with the keyword.
class StepArguments {
 public:
  static constexpr std::size_t kByKeyword = ~std::size_t{0};  ///< for arguments without a position
  enum class From : std::uint8_t {
    text,    ///< parsed text; a pair of sides needs no brackets: image.resize(3, 4)
    values,  ///< values from a language binding; numbers may be negative, which the step itself rejects
  };

  StepArguments(std::string_view step, std::vector<Argument> arguments, From from)
      : step_(step), from_(from), arguments_(std::move(arguments)), used_(arguments_.size(), false) {}

  std::string_view step() const { return step_; }  ///< its name, for messages
  bool is_text() const { return from_ == From::text; }

  /// Returns null if the argument is not given. An empty keyword searches by position only.
  const Argument* find(std::size_t place, std::string_view keyword);
  /// Throws if the argument is not given.
  const Argument& get(std::size_t place, std::string_view keyword);
  /// Converts an argument or one of its numbers to an integer. Throws if the number is not an integer.
  std::int64_t whole(double number, std::string_view keyword) const;
  std::int64_t whole(const Argument& argument, std::string_view keyword) const;
  static double real(const Argument& argument, std::string_view keyword);
  static const std::string& word(const Argument& argument, std::string_view keyword);

  /// Throws if an argument has not been used.
  void none_left() const;

 private:
  void refuse_old_names() const;  // throws if a former parameter name is used

  std::string_view step_;
  From from_;
  std::vector<Argument> arguments_;
  std::vector<bool> used_;
};

class PixelStep;  // transforms/image/steps/pixel_step.hpp
class PointStep;  // transforms/clouds/steps/point_step.hpp

/// Place of a parameter in a step's text.
enum class Shown : std::uint8_t { always, by_keyword, unless_usual, by_place_unless_usual };

/// Meaning of a single number for a parameter that accepts several.
enum class OneNumber : std::uint8_t {
  exactly,     ///< range: low and high are this number
  about_zero,  ///< range: from -x to x
  about_one,   ///< range: from max(0, 1 - x) to 1 + x
  nothing,     ///< range: one number is not allowed
  square,      ///< size: height and width; printed as one number if both are equal
  short_side,  ///< size: the short side; the image's aspect ratio gives the other one
};

/// Properties of a parameter besides its name and meaning. Most of them apply to some types of values only.
struct Rules {
  bool required = false;  ///< otherwise the default is that of a new struct
  bool keyword = false;   ///< keyword-only in Python
  Shown shown = Shown::always;
  double least = std::numeric_limits<double>::lowest();  ///< of numbers; both bounds are allowed values
  double most = std::numeric_limits<double>::max();
  bool above_least = false;  ///< `least` itself is not allowed
  OneNumber one = OneNumber::exactly;
  int without = -1;  ///< choice: index of the value that this step does not support; -1: none
  /// Choice: the text before an unknown word. Number: the message if the number is out of range.
  std::string_view refusal = {};
  std::string_view yes = "True";  ///< flag: the text for true
  std::string_view unit = {};
};

/// One parameter of a step, in the order in which a user gives them.
class StepParameter {
 public:
  StepParameter(std::string_view called, const Rules& ruled, std::string_view means)
      : name(called), meaning(means), rules(ruled) {}
  virtual ~StepParameter() = default;

  const std::string_view name, meaning;
  const Rules rules;

  /// `step` points to the struct. read() leaves the parameter unchanged if the argument is not given. Throws like
  /// StepArguments, and Error: invalid_argument, for unknown words.
  virtual void read(StepArguments& given, std::size_t place, void* step) const = 0;
  virtual std::string text(const void* step) const = 0;
  virtual std::string fault(const void* step) const = 0;  ///< "needs ..."; empty if the value is valid
  virtual bool takes_two_places() const = 0;              ///< in text
  virtual std::string allowed() const = 0;                ///< "0 to 1"
  virtual std::string python_type() const = 0;
  virtual std::string python_text(const void* step) const = 0;
};

class StepTable {
 public:
  StepTable(std::string_view called, std::string_view means) : name(called), meaning(means) {}
  virtual ~StepTable() = default;

  const std::string_view name;  ///< "image.resize"
  const std::string_view meaning;
  std::span<const std::unique_ptr<const StepParameter>> parameters() const { return parameters_; }
  virtual Traits traits(const Step& step) const = 0;
  /// The implementation of a pixel step or point step, otherwise null.
  const PixelStep* pixels() const { return pixels_; }
  const PointStep* points() const { return points_; }

  /// Throws like StepParameter::read() and check_numbers().
  virtual Chain read(StepArguments& given) const = 0;
  /// The default of a parameter, as chain text and in Python.
  std::string usual_text(const StepParameter& parameter) const { return parameter.text(usual_); }
  std::string usual_python(const StepParameter& parameter) const { return parameter.python_text(usual_); }
  virtual std::string text(const Step& step) const = 0;
  /// Throws Error: invalid_argument, if a number is invalid for every input.
  virtual void check(const Step& step) const = 0;

 protected:
  void read_into(void* step, StepArguments& given) const;
  std::string text_of(const void* step) const;
  void check_parameters(const void* step) const;

  std::vector<std::unique_ptr<const StepParameter>> parameters_;
  Traits traits_;
  const void* usual_ = nullptr;
  const PixelStep* pixels_ = nullptr;
  const PointStep* points_ = nullptr;
};

/// Throws Error: invalid_argument, naming the step, if a number is invalid for every input.
void check_numbers(const Step& step);

/// Every step that has a text form, in the order of the list in chain.hpp.
std::span<const StepTable* const> step_tables();

}  // namespace penstock
