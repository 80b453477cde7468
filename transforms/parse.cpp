#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <penstock/chain.hpp>
#include <penstock/error.hpp>
#include <transforms/chain/renamed_words.hpp>
#include <transforms/chain/step_table.hpp>
#include <transforms/chain/window.hpp>

namespace penstock {
namespace {

/// Parses chains of the form  part | part | ...
///
///   part = name(argument, ...)
///   argument = [keyword=] (number | word | [number, ...])
class ChainReader {
 public:
  explicit ChainReader(std::string_view text) : text_(text) {}

  Chain read() {
    Chain chain = part();
    for (skip_blanks(); at_ < text_.size(); skip_blanks()) {
      expect('|');
      chain = std::move(chain) | part();
    }
    return chain;
  }

 private:
  Chain part();
  Chain read(const StepTable& table, StepArguments& given) const;

  [[noreturn]] void fail(const std::string& cause) const {
    throw Error::invalid_argument("chain \"" + std::string(text_) + "\", character " + std::to_string(at_ + 1) + ": " +
                                  cause);
  }

  void skip_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  bool take(char wanted) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  void expect(char wanted) {
    if (!take(wanted)) fail(std::string("'") + wanted + "' expected");
  }

  std::string word() {
    skip_blanks();
    const std::size_t begin = at_;
    const auto belongs = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
    };
    while (at_ < text_.size() && belongs(text_[at_])) ++at_;
    if (begin == at_) fail("a name expected");
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string quoted_or_word() {
    for (const char quote : {'"', '\''}) {
      if (!take(quote)) continue;
      const std::size_t end = text_.find(quote, at_);
      if (end == std::string_view::npos) fail("the closing quote is missing");
      const std::string inside(text_.substr(at_, end - at_));
      at_ = end + 1;
      return inside;
    }
    return word();
  }

  // Reads the arguments of field(...) and follow(...): names, with or without quotes.
  std::string names() {
    const std::size_t end = text_.find(')', at_);
    if (end == std::string_view::npos) fail("')' expected");
    std::string inside(text_.substr(at_, end - at_));
    at_ = end + 1;
    std::erase_if(inside, [](char c) { return c == '"' || c == '\''; });
    inside.erase(0, inside.find_first_not_of(' '));
    inside.erase(inside.find_last_not_of(' ') + 1);
    return inside;
  }

  double number() {
    skip_blanks();
    double value = 0;
    const auto [end, fault] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (fault != std::errc()) fail("a number expected");
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  bool at_number() {
    skip_blanks();
    return at_ < text_.size() && ((text_[at_] >= '0' && text_[at_] <= '9') || text_[at_] == '-' || text_[at_] == '.');
  }

  void value(Argument& argument) {
    for (const auto& [opening, closing] : {std::pair{'(', ')'}, {'[', ']'}}) {
      if (!take(opening)) continue;
      argument.list = true;
      while (!take(closing)) {
        if (!argument.numbers.empty() || !argument.words.empty()) expect(',');
        if (at_number()) {
          argument.numbers.push_back(number());
        } else {
          argument.words.push_back(quoted_or_word());
        }
      }
      return;
    }
    if (at_number()) {
      argument.numbers.push_back(number());
    } else {
      argument.word = quoted_or_word();
    }
  }

  std::vector<Argument> arguments() {
    std::vector<Argument> list;
    while (!take(')')) {
      if (!list.empty()) expect(',');
      Argument& argument = list.emplace_back();
      value(argument);
      if (!argument.word.empty() && take('=')) {
        argument.keyword = std::move(argument.word);
        argument.word.clear();
        value(argument);
      }
    }
    return list;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

Chain ChainReader::part() {
  const std::string name = word();
  expect('(');
  if (name == "field") return field(names());
  if (name == "follow") return follow(names());
  std::vector<Argument> given = arguments();
  if (name == "window") {
    StepArguments to_read("window", std::move(given), StepArguments::From::text);
    try {
      return window_from(to_read);
    } catch (const Error& error) {
      const std::string cause = error.cause();
      fail(cause.starts_with("window()") ? cause : "window() " + cause);
    }
  }
  for (const StepTable* table : step_tables()) {
    if (table->name != name) continue;
    StepArguments to_read(table->name, std::move(given), StepArguments::From::text);
    return read(*table, to_read);
  }
  if (const std::string_view present = present_step(name); !present.empty())
    fail("there is no step \"" + name + "\": it is " + std::string(present) + "() now");
  fail("there is no step \"" + name + "\"; custom steps have no text form");
}

Chain ChainReader::read(const StepTable& table, StepArguments& given) const {
  try {
    return table.read(given);
  } catch (const Error& error) {
    const std::string cause = error.cause();
    const bool named = cause.starts_with(table.name);  // errors of shared checks already name the step
    fail(named ? cause : std::string(table.name) + "() " + cause);
  }
}

}  // namespace

Chain parse_chain(std::string_view text) {
  return text.find_first_not_of(' ') == std::string_view::npos ? Chain{} : ChainReader(text).read();
}

}  // namespace penstock
