// The table of a kind of step: its name, what it means, and its parameters. Text, its parser, the checks of what a user
// gives, the functions of Python and the page on transforms are made from it.
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
  void refuse_old_names() const;  // that parameters had once

  std::string_view step_;
  From from_;
  std::vector<Argument> arguments_;
  std::vector<bool> used_;
};

class PixelStep;  // transforms/image/steps/pixel_step.hpp
class PointStep;  // transforms/clouds/steps/point_step.hpp

/// Where a parameter stands in a step's text.
enum class Shown : std::uint8_t { always, by_keyword, unless_usual, by_place_unless_usual };

/// What one number stands for, where a parameter takes several.
enum class OneNumber : std::uint8_t {
  exactly,     ///< of a range: low and high
  about_zero,  ///< of a range: from -x to x
  about_one,   ///< of a range: from max(0, 1 - x) to 1 + x
  nothing,     ///< of a range: it does not do
  square,      ///< of a size: height and width; they are shown as one number where they are equal
  short_side,  ///< of a size: the short side, and the other one as the image has it
};

/// What a table says of a parameter beside its name and meaning. Most is for some types of values alone.
struct Rules {
  bool required = false;  ///< else its usual value is that of a new struct
  bool keyword = false;   ///< in Python it has no place
  Shown shown = Shown::always;
  double least = std::numeric_limits<double>::lowest();  ///< numbers; both may be given
  double most = std::numeric_limits<double>::max();
  bool above_least = false;  ///< ... but the least may not
  OneNumber one = OneNumber::exactly;
  int without = -1;               ///< a choice: the one that this step does not have
  std::string_view refusal = {};  ///< a choice: stands before the word that it does not know; one number: of one beyond
                                  ///< the bounds, in place of "needs NAME from ..."
  std::string_view yes = "True";  ///< a flag: as its text has it
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

  /// `step` is the struct. read() leaves it alone where the argument is not given; it throws as StepArguments, and
  /// Error: invalid_argument, for words that name nothing.
  virtual void read(StepArguments& given, std::size_t place, void* step) const = 0;
  virtual std::string text(const void* step) const = 0;
  virtual std::string fault(const void* step) const = 0;  ///< "needs ..."; empty where there is none
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
  /// What it does, where it is a step on pixels, or on points; else null.
  const PixelStep* pixels() const { return pixels_; }
  const PointStep* points() const { return points_; }

  /// Throws as StepParameter::read() and check_numbers().
  virtual Chain read(StepArguments& given) const = 0;
  /// A parameter that is not given, in a chain's text or in Python.
  std::string usual_text(const StepParameter& parameter) const { return parameter.text(usual_); }
  std::string usual_python(const StepParameter& parameter) const { return parameter.python_text(usual_); }
  virtual std::string text(const Step& step) const = 0;
  /// Throws Error: invalid_argument, for numbers that make no sense whatever the step is applied to.
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

/// Throws Error: invalid_argument, naming the step, for numbers that make no sense whatever the step is applied to.
void check_numbers(const Step& step);

/// Every step that can be written as text, in the order of the list in chain.hpp.
std::span<const StepTable* const> step_tables();

}  // namespace penstock
