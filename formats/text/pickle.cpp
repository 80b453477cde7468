#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include <base/numbers/load.hpp>
#include <base/printable.hpp>
#include <formats/text/pickle.hpp>
#include <formats/text/pickle_array.hpp>
#include <formats/text/pickle_names.hpp>
#include <formats/text/pickle_texts.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

using Kind = PickleValue::Kind;

// A node of kind `other` refers to a PickleName, or to a dtype from this number on.
constexpr std::uint32_t kFirstDtype = 256;

}  // namespace

struct Pickle::State {
  struct Node {
    Kind kind = Kind::none;
    std::uint32_t ref = 0;    // of a list or dict: number in `entries`, 0 while empty; of an array: in `arrays`
    std::int64_t number = 0;  // the bits of a real
    std::string_view text = {};
  };
  std::vector<Node> nodes;
  std::vector<std::vector<std::uint32_t>> entries{1};  // of lists; keys and values of dicts in turn
  std::deque<std::string> texts;                       // that are not in the file as they are
  std::vector<PickleArray> arrays;
  std::vector<PickleDtype> dtypes;
};

namespace {

using State = Pickle::State;
using Node = State::Node;

// Executes the opcodes of one pickle.
class Machine {
 public:
  Machine(std::span<const std::byte> bytes, State& state) : bytes_(bytes), state_(state) {}

  std::uint32_t run() {
    std::uint64_t opcode_at = 0;
    try {
      while (true) {
        opcode_at = at_;
        const auto code = static_cast<unsigned char>(take(1)[0]);
        if (code == '.') return finish();
        execute(code);
      }
    } catch (const Error& error) {
      throw Error(error.kind(), "pickle: " + error.cause(), {.offset = opcode_at});
    }
  }

 private:
  std::uint32_t finish() {
    if (stack_.size() != 1 || !marks_.empty())
      fail("the pickle ends with " + std::to_string(stack_.size()) + " values");
    if (at_ != bytes_.size())
      fail(std::to_string(bytes_.size() - at_) + " bytes follow the first pickle; save one object per file");
    return stack_[0];
  }

  [[noreturn]] static void fail(std::string cause) { throw Error::corrupt(std::move(cause)); }
  [[noreturn]] static void refuse(std::string cause) { throw Error::unsupported(std::move(cause)); }

  // Bytes.

  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size() - at_)
      fail("needs " + with_commas(count) + " more bytes, but the file has " + with_commas(bytes_.size() - at_));
    const std::string_view taken(reinterpret_cast<const char*>(bytes_.data()) + at_, count);
    at_ += count;
    return taken;
  }

  template <typename Number>
  Number number() {
    return load<Number>(std::as_bytes(std::span(take(sizeof(Number)))), 0);
  }

  std::string_view line() {
    const std::string_view rest(reinterpret_cast<const char*>(bytes_.data()) + at_, bytes_.size() - at_);
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) fail("a line does not end");
    at_ += end + 1;
    return rest.substr(0, end);
  }

  // The stack. Values below the last mark are out of reach until the mark is removed.

  void push(std::uint32_t value) { stack_.push_back(value); }
  void push(Node node) { push(add(node)); }

  std::uint32_t add(Node node) {
    if (state_.nodes.size() >= Pickle::kMostObjects)
      refuse("has more than " + with_commas(Pickle::kMostObjects) + " objects; save it as CSV");
    state_.nodes.push_back(node);
    return static_cast<std::uint32_t>(state_.nodes.size() - 1);
  }

  std::uint32_t pop() {
    const std::uint32_t value = top();
    stack_.pop_back();
    return value;
  }

  std::uint32_t top() const {
    if (stack_.size() <= floor()) fail("the stack is empty");
    return stack_.back();
  }

  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }

  std::vector<std::uint32_t> pop_mark() {
    if (marks_.empty()) fail("a mark is missing");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<std::uint32_t> values(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return values;
  }

  std::vector<std::uint32_t> pop_some(std::size_t count) {
    std::vector<std::uint32_t> values(count);
    for (std::size_t i = count; i != 0; --i) values[i - 1] = pop();
    return values;
  }

  void remember(std::uint64_t place) {
    // The memo holds objects of the pickle. A greater number would only allocate memory.
    if (place > state_.nodes.size() + 1)
      fail("memo " + with_commas(place) + " of " + with_commas(state_.nodes.size()) + " objects");
    if (place >= memo_.size()) memo_.resize(place + 1, kUnset);
    memo_[place] = top();
  }

  void recall(std::uint64_t place) {
    if (place >= memo_.size() || memo_[place] == kUnset) fail("memo " + with_commas(place) + " is not set");
    push(memo_[place]);
  }

  // Values.

  Node& node(std::uint32_t number) { return state_.nodes[number]; }
  bool is(std::uint32_t number, Kind kind) { return node(number).kind == kind; }

  std::uint32_t container(Kind kind, std::vector<std::uint32_t> entries) {
    if (entries.empty()) return add({.kind = kind});
    state_.entries.push_back(std::move(entries));
    return add({.kind = kind, .ref = static_cast<std::uint32_t>(state_.entries.size() - 1)});
  }

  const std::vector<std::uint32_t>& entries(std::uint32_t number, Kind kind, const char* what) {
    if (!is(number, kind)) fail(std::string("has a value that is not a ") + what);
    return state_.entries[node(number).ref];
  }

  void append(std::vector<std::uint32_t> values, Kind kind, const char* what) {
    if (kind == Kind::dict && values.size() % 2 != 0) fail("a dict has a key without a value");
    if (values.empty()) return;
    entries(top(), kind, what);
    std::uint32_t& ref = node(top()).ref;
    if (ref == 0) {
      state_.entries.emplace_back();
      ref = static_cast<std::uint32_t>(state_.entries.size() - 1);
    }
    std::vector<std::uint32_t>& all = state_.entries[ref];
    all.insert(all.end(), values.begin(), values.end());
  }

  void make_dict(std::vector<std::uint32_t> values) {
    if (values.size() % 2 != 0) fail("a dict has a key without a value");
    push(container(Kind::dict, std::move(values)));
  }

  Node text(Kind kind, std::string_view text) { return {.kind = kind, .text = text}; }
  // A pickle decodes each of its texts at most twice. More would come from one text that is used again and again.
  Node owned(Kind kind, std::string text) {
    owned_bytes_ += text.size();
    if (owned_bytes_ > 4 * bytes_.size()) fail("decodes the same text too often");
    return {.kind = kind, .text = state_.texts.emplace_back(std::move(text))};
  }
  static Node integer(std::int64_t value) { return {.kind = Kind::integer, .number = value}; }
  static Node boolean(bool value) { return {.kind = Kind::boolean, .number = value ? 1 : 0}; }
  static Node real(double value) { return {.kind = Kind::real, .number = std::bit_cast<std::int64_t>(value)}; }

  // The booleans of protocols 0 and 1 are integers with a leading zero.
  static Node decimal(std::string_view digits) {
    if (digits == "00" || digits == "01") return boolean(digits == "01");
    return integer(pickled_integer(digits));
  }

  // Names and their calls.

  void push_name(std::string_view module, std::string_view name) {
    push(Node{.kind = Kind::other, .ref = static_cast<std::uint32_t>(pickle_name(module, name))});
  }

  bool is_name(std::uint32_t number, PickleName name) {
    return is(number, Kind::other) && node(number).ref == static_cast<std::uint32_t>(name);
  }

  // A copy. Without a limit, many calls with one long tuple would take very long.
  std::vector<std::uint32_t> few_entries(std::uint32_t list) {
    const std::vector<std::uint32_t>& all = state_.entries[node(list).ref];
    if (all.size() > kMostArguments) refuse("calls a type with " + with_commas(all.size()) + " arguments");
    return all;
  }

  void call() {
    const std::uint32_t arguments = pop(), function = pop();
    if (!is(function, Kind::other) || node(function).ref >= kFirstDtype) fail("calls a value that is not a name");
    if (!is(arguments, Kind::list)) fail("calls a name without a tuple of arguments");
    const std::vector<std::uint32_t> given = few_entries(arguments);
    push(result_of(static_cast<PickleName>(node(function).ref), given));
  }

  std::uint32_t result_of(PickleName name, const std::vector<std::uint32_t>& given) {
    switch (name) {
      case PickleName::array:
        if (given.size() == 3 && is_name(given[0], PickleName::ndarray))
          return add({.kind = Kind::array, .ref = new_array()});
        break;
      case PickleName::scalar:
        if (given.size() == 2) return scalar(dtype_at(given[0]), given[1]);
        break;
      case PickleName::buffer:
        if (given.size() == 4 || (given.size() == 5 && is(given[4], Kind::none))) return array_of_buffer(given);
        break;
      case PickleName::dtype:
        if (!given.empty()) return new_dtype(text_at(given[0]));
        break;
      case PickleName::encode:
        if (given.size() == 2) return add(latin(given[0], given[1]));
        break;
      case PickleName::dict:
        if (given.empty()) return container(Kind::dict, {});
        if (given.size() == 1) return dict_of(given[0]);
        break;
      case PickleName::defaults:  // the factory of a defaultdict is not needed
        if (given.size() <= 1) return container(Kind::dict, {});
        if (given.size() == 2) return dict_of(given[1]);
        break;
      case PickleName::list:
        if (given.empty()) return container(Kind::list, {});
        if (given.size() == 1 && is(given[0], Kind::list)) return given[0];
        break;
      case PickleName::bytes:
        if (given.empty()) return add(text(Kind::bytes, {}));
        if (given.size() == 1 && is(given[0], Kind::bytes)) return given[0];
        if (given.size() == 2) return add(latin(given[0], given[1]));
        break;
      case PickleName::ndarray:
      case PickleName::type:
        break;
    }
    refuse("calls a type with arguments that pickles of plain data do not have");
  }

  // The dict itself, or a dict of a list of pairs.
  std::uint32_t dict_of(std::uint32_t value) {
    if (is(value, Kind::dict)) return value;
    std::vector<std::uint32_t> all;
    for (const std::uint32_t pair : entries(value, Kind::list, "list of pairs")) {
      const std::vector<std::uint32_t>& two = entries(pair, Kind::list, "pair");
      if (two.size() != 2) fail("a dict has a key without a value");
      all.insert(all.end(), two.begin(), two.end());
    }
    paired_ += all.size();
    if (paired_ > bytes_.size()) fail("makes dicts of the same list too often");
    return container(Kind::dict, std::move(all));
  }

  std::string_view text_at(std::uint32_t value) {
    if (!is(value, Kind::text) && !is(value, Kind::bytes)) fail("a value is not a text");
    return node(value).text;
  }

  // The bytes of which `value` has the code points.
  Node latin(std::uint32_t value, std::uint32_t encoding) {
    const std::string_view name = text_at(encoding);
    if (name != "latin1" && name != "latin-1") refuse("encodes bytes as " + double_quoted(name));
    return owned(Kind::bytes, latin1_of(text_at(value)));
  }

  // NumPy.

  std::uint32_t new_array() {
    state_.arrays.push_back({.kind = 'u', .item_bytes = 1, .shape = {0}});  // until BUILD
    return static_cast<std::uint32_t>(state_.arrays.size() - 1);
  }

  std::uint32_t new_dtype(std::string_view code) {
    state_.dtypes.push_back(pickle_dtype(code));
    return add({.kind = Kind::other, .ref = static_cast<std::uint32_t>(state_.dtypes.size() - 1) + kFirstDtype});
  }

  PickleDtype& dtype_at(std::uint32_t value) {
    if (!is(value, Kind::other) || node(value).ref < kFirstDtype) fail("an array has no dtype");
    return state_.dtypes[node(value).ref - kFirstDtype];
  }

  std::vector<std::uint64_t> shape_at(std::uint32_t value) {
    std::vector<std::uint64_t> shape;
    for (const std::uint32_t size : entries(value, Kind::list, "shape")) {
      if (!is(size, Kind::integer) || node(size).number < 0) fail("an array has an invalid shape");
      shape.push_back(static_cast<std::uint64_t>(node(size).number));
    }
    if (shape.size() > kMostDimensions) refuse("has an array of " + std::to_string(shape.size()) + " dimensions");
    return shape;
  }

  std::uint32_t array_of_buffer(const std::vector<std::uint32_t>& given) {
    if (!is(given[0], Kind::bytes)) fail("an array has no bytes");
    PickleArray array =
        pickle_array(dtype_at(given[1]), shape_at(given[2]), text_at(given[3]) == "F", node(given[0]).text);
    const std::uint32_t number = new_array();
    state_.arrays[number] = std::move(array);
    return add({.kind = Kind::array, .ref = number});
  }

  std::uint32_t scalar(const PickleDtype& dtype, std::uint32_t value) {
    if (dtype.kind == 'O') return value;
    const PickleArray array = pickle_array(dtype, {}, false, text_at(value));
    PickleElement element = element_at(array, 0);
    if (element.kind == Kind::real) return add(real(element.real));
    if (element.kind == Kind::integer || element.kind == Kind::boolean)
      return add({.kind = element.kind, .number = element.integer});
    return add(owned(element.kind, std::move(element.text)));
  }

  void build() {
    const std::uint32_t state = pop(), value = top();
    const std::vector<std::uint32_t> given = is(state, Kind::list) ? few_entries(state) : std::vector<std::uint32_t>();
    if (is(value, Kind::array)) return build_array(value, given);
    if (is(value, Kind::other) && node(value).ref >= kFirstDtype) return build_dtype(dtype_at(value), given);
    refuse("sets attributes of an object, which is not plain data");
  }

  // (version, shape, dtype, is_fortran, bytes or list)
  void build_array(std::uint32_t value, const std::vector<std::uint32_t>& given) {
    if (given.size() != 5) fail("an array has an unknown state");
    const PickleDtype dtype = dtype_at(given[2]);
    const bool fortran = node(given[3]).number != 0;
    std::vector<std::uint64_t> shape = shape_at(given[1]);
    if (dtype.kind != 'O') {
      state_.arrays[node(value).ref] = pickle_array(dtype, std::move(shape), fortran, text_at(given[4]));
      return;
    }
    if (shape.size() != 1) refuse("has an array of objects with " + std::to_string(shape.size()) + " dimensions");
    if (shape[0] != entries(given[4], Kind::list, "list").size())
      fail("an array of objects has another size than its shape");
    node(value) = node(given[4]);
  }

  // (version, byte order, None, None, None, ...): subarrays and structures have values instead of None
  void build_dtype(PickleDtype& dtype, const std::vector<std::uint32_t>& given) {
    if (given.size() < 5) fail("a dtype has an unknown state");
    for (std::size_t i = 2; i < 5; ++i) {
      if (!is(given[i], Kind::none)) refuse("has a structured array; save its columns as separate arrays");
    }
    dtype.big_endian = text_at(given[1]) == ">";
  }

  void execute(unsigned char code) {
    if (!execute_scalar(code) && !execute_container(code) && !execute_memo(code)) execute_call(code);
  }

  bool execute_scalar(unsigned char code) {
    switch (code) {
      case 'N':
        return push(Node{}), true;
      case 0x88:
      case 0x89:
        return push(boolean(code == 0x88)), true;
      case 'I':
      case 'L':
        return push(decimal(line())), true;
      case 'J':
        return push(integer(number<std::int32_t>())), true;
      case 'K':
        return push(integer(number<std::uint8_t>())), true;
      case 'M':
        return push(integer(number<std::uint16_t>())), true;
      case 0x8A:
        return push(integer(pickled_long(take(number<std::uint8_t>())))), true;
      case 0x8B:
        return push(integer(pickled_long(take(number<std::uint32_t>())))), true;
      case 'F':
        return push(real(pickled_real(line()))), true;
      case 'G':
        return push(real(std::bit_cast<double>(__builtin_bswap64(number<std::uint64_t>())))), true;
      case 'S':
        return push(owned(Kind::bytes, unquoted(line()))), true;
      case 'T':
      case 'B':
        return push(text(Kind::bytes, take(number<std::uint32_t>()))), true;
      case 'U':
      case 'C':
        return push(text(Kind::bytes, take(number<std::uint8_t>()))), true;
      case 0x8E:
      case 0x96:
        return push(text(Kind::bytes, take(number<std::uint64_t>()))), true;
      case 'V':
        return push(owned(Kind::text, unescaped(line()))), true;
      case 'X':
        return push(text(Kind::text, take(number<std::uint32_t>()))), true;
      case 0x8C:
        return push(text(Kind::text, take(number<std::uint8_t>()))), true;
      case 0x8D:
        return push(text(Kind::text, take(number<std::uint64_t>()))), true;
      default:
        return false;
    }
  }

  bool execute_container(unsigned char code) {
    switch (code) {
      case '}':
        return push(container(Kind::dict, {})), true;
      case 'd':
        return make_dict(pop_mark()), true;
      case 's':
        return append(pop_some(2), Kind::dict, "dict"), true;
      case 'u':
        return append(pop_mark(), Kind::dict, "dict"), true;
      case ']':
      case ')':
      case 0x8F:
        return push(container(Kind::list, {})), true;
      case 'l':
      case 't':
      case 0x91:
        return push(container(Kind::list, pop_mark())), true;
      case 'a':
        return append(pop_some(1), Kind::list, "list"), true;
      case 'e':
      case 0x90:
        return append(pop_mark(), Kind::list, "list"), true;
      case 0x85:
      case 0x86:
      case 0x87:
        return push(container(Kind::list, pop_some(code - 0x84U))), true;
      default:
        return false;
    }
  }

  bool execute_memo(unsigned char code) {
    switch (code) {
      case 'p':
        return remember(place(line())), true;
      case 'q':
        return remember(number<std::uint8_t>()), true;
      case 'r':
        return remember(number<std::uint32_t>()), true;
      case 0x94:
        return remember(memo_.size()), true;
      case 'g':
        return recall(place(line())), true;
      case 'h':
        return recall(number<std::uint8_t>()), true;
      case 'j':
        return recall(number<std::uint32_t>()), true;
      default:
        return false;
    }
  }

  void execute_call(unsigned char code) {
    switch (code) {
      case 0x80:
        if (const auto protocol = number<std::uint8_t>(); protocol > 5)
          refuse("has protocol " + std::to_string(protocol));
        return;
      case 0x95:  // a frame: its opcodes follow as usual
        if (number<std::uint64_t>() > bytes_.size() - at_) fail("a frame is longer than the file");
        return;
      case '(':
        return marks_.push_back(stack_.size());
      case '0':
        if (!marks_.empty() && stack_.size() == marks_.back()) return marks_.pop_back();
        pop();
        return;
      case '1':
        pop_mark();
        return;
      case '2':
        return push(top());
      case 'c': {
        const std::string_view module = line();
        return push_name(module, line());
      }
      case 0x93: {
        const std::string_view name = text_at(pop());
        return push_name(text_at(pop()), name);
      }
      case 'R':
        return call();
      case 'b':
        return build();
      case 'i': {
        const std::string_view module = line();
        refuse_pickle_name(module, line());
      }
      case 'o':
      case 0x81:
      case 0x92:
        refuse("makes an object of a class, which is not loaded: " + std::string(kSavePlainData));
      case 0x82:
      case 0x83:
      case 0x84:
        refuse("uses a code of Python's extension registry, which is not loaded: " + std::string(kSavePlainData));
      case 'P':
      case 'Q':
        refuse("refers to an object outside the file, as torch.save() writes: " + std::string(kSaveTensors));
      case 0x97:
      case 0x98:
        refuse("has its arrays outside the file; save it without buffer_callback");
      default:
        fail("has no opcode " + std::to_string(code) + "; it may not be a pickle, or be compressed");
    }
  }

  std::uint64_t place(std::string_view digits) const {
    const std::int64_t place = pickled_integer(digits);
    if (place < 0) fail("has an invalid memo " + double_quoted(digits));
    return static_cast<std::uint64_t>(place);
  }

  static constexpr std::uint32_t kUnset = ~std::uint32_t{0};
  static constexpr std::size_t kMostDimensions = 8, kMostArguments = 16;
  const std::span<const std::byte> bytes_;
  State& state_;
  std::uint64_t at_ = 0, owned_bytes_ = 0, paired_ = 0;
  std::vector<std::uint32_t> stack_;
  std::vector<std::size_t> marks_;
  std::vector<std::uint32_t> memo_;
};

}  // namespace

Pickle::Pickle(std::span<const std::byte> bytes) : state_(std::make_unique<State>()) {
  root_ = Machine(bytes, *state_).run();
}

Pickle::~Pickle() = default;

PickleValue Pickle::root() const {
  return {*state_, root_};
}

PickleValue::Kind PickleValue::kind() const {
  return state_->nodes[number_].kind;
}

std::int64_t PickleValue::integer() const {
  return kind() == Kind::real ? 0 : state_->nodes[number_].number;
}

double PickleValue::real() const {
  return kind() == Kind::real ? std::bit_cast<double>(state_->nodes[number_].number) : 0;
}

std::string_view PickleValue::text() const {
  return state_->nodes[number_].text;
}

std::uint64_t PickleValue::size() const {
  if (kind() != Kind::list && kind() != Kind::dict) return 0;
  return state_->entries[state_->nodes[number_].ref].size() / (kind() == Kind::dict ? 2 : 1);
}

PickleValue PickleValue::at(std::uint64_t entry) const {
  return {*state_, state_->entries[state_->nodes[number_].ref].at(entry)};
}

PickleValue PickleValue::key(std::uint64_t entry) const {
  return at(2 * entry);
}

PickleValue PickleValue::value(std::uint64_t entry) const {
  return at(2 * entry + 1);
}

const PickleArray& PickleValue::array() const {
  return state_->arrays.at(state_->nodes[number_].ref);
}

}  // namespace penstock
