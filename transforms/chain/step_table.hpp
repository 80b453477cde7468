// The table of a kind of step: its name, what it means, and its parameters. Text, its parser, the checks of what a user
// gives, the functions of Python and the page on transforms are made from it.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <penstock/transforms/chain/step.hpp>
#include <transforms/chain/step_arguments.hpp>

namespace penstock {

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
  const Traits& traits() const { return traits_; }
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
