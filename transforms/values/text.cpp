#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include <formats/text/byte_order_mark.hpp>
#include <formats/text/json_cause.hpp>
#include <penstock/error.hpp>
#include <transforms/values/text.hpp>

namespace penstock {
namespace {

std::string_view text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void check_output(const Region* region, const TensorView& out, std::size_t bytes) {
  if (region != nullptr || out.bytes() != bytes) throw Error::invalid_argument("the output does not hold the value");
}

/// Strips blanks around a value.
std::string_view trimmed(std::string_view value) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = value.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return value.substr(begin, value.find_last_not_of(kBlanks) - begin + 1);
}

class ClassIndexDecoder final : public Decoder {
 public:
  Layout peek(const FieldBytes&) override { return {.dtype = DType::i64}; }
  void decode(const FieldBytes& field, const Region* region, TensorView out) override {
    check_output(region, out, sizeof(std::int64_t));
    const std::optional<std::int64_t> value = integer_in(field.bytes);
    if (!value) {
      throw Error::corrupt("cls: not a decimal integer: '" + std::string(trimmed(text(field.bytes)).substr(0, 40)) +
                           "'");
    }
    std::memcpy(out.data, &*value, sizeof(*value));
  }
};

class TxtDecoder final : public Decoder {
 public:
  Layout peek(const FieldBytes& field) override { return {.shape = {static_cast<std::int64_t>(field.bytes.size())}}; }
  void decode(const FieldBytes& field, const Region* region, TensorView out) override {
    check_output(region, out, field.bytes.size());
    if (!field.bytes.empty()) std::memcpy(out.data, field.bytes.data(), field.bytes.size());
  }
};

/// Collects numbers while nlohmann parses, without building a document, so that deep nesting costs nothing.
class Numbers : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return refuse("null"); }
  bool boolean(bool) override { return refuse("a boolean"); }
  bool string(string_t&) override { return refuse("a string"); }
  bool binary(binary_t&) override { return refuse("binary"); }
  bool start_object(std::size_t) override { return refuse("an object"); }
  bool key(string_t&) override { return refuse("an object"); }
  bool end_object() override { return refuse("an object"); }
  bool number_integer(number_integer_t value) override { return add(value, static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > INT64_MAX) return refuse("an integer beyond int64");
    return add(static_cast<std::int64_t>(value), static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t&) override {
    whole = false;
    return add(0, value);
  }
  bool start_array(std::size_t) override {
    count_item();
    open_.push_back(0);
    if (open_.size() > 64) return refuse("an array of more than 64 dimensions");
    if (rank_ != 0 && open_.size() > rank_) return uneven();
    return true;
  }
  bool end_array() override {
    const std::size_t depth = open_.size() - 1;
    if (shape.size() <= depth) shape.resize(depth + 1, -1);
    if (shape[depth] >= 0 && shape[depth] != open_.back()) return uneven();
    shape[depth] = open_.back();
    if (rank_ == 0) rank_ = open_.size();  // the first array to end is an innermost one
    open_.pop_back();
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) override {
    throw Error::corrupt("json: " + json_cause(error));
  }

  std::vector<std::int64_t> integers;
  std::vector<double> reals;
  Shape shape;
  bool whole = true;

 private:
  bool add(std::int64_t integer, double real) {
    count_item();
    if (rank_ != 0 && open_.size() != rank_) return uneven();
    if (rank_ == 0) rank_ = open_.size();
    integers.push_back(integer);
    reals.push_back(real);
    return true;
  }
  void count_item() {
    if (!open_.empty()) ++open_.back();
  }
  bool refuse(const std::string& what) { throw Error::unsupported("json: " + what + " cannot be read as a number"); }
  bool uneven() { throw Error::shape("json: arrays of different lengths"); }

  std::vector<std::int64_t> open_;  ///< number of items so far, for each open array
  std::size_t rank_ = 0;            ///< number of dimensions, once known
};

class JsonDecoder final : public Decoder {
 public:
  Layout peek(const FieldBytes& field) override {
    numbers_ = Numbers();
    nlohmann::json::sax_parse(text(field.bytes), &numbers_);
    if (numbers_.reals.empty()) numbers_.whole = false;
    source_ = field.bytes.data();
    return {.dtype = numbers_.whole ? DType::i64 : DType::f64, .shape = numbers_.shape};
  }
  void decode(const FieldBytes& field, const Region* region, TensorView out) override {
    if (source_ != field.bytes.data()) peek(field);
    check_output(region, out, numbers_.reals.size() * sizeof(double));
    const void* from = numbers_.whole ? static_cast<const void*>(numbers_.integers.data()) : numbers_.reals.data();
    if (!numbers_.reals.empty()) std::memcpy(out.data, from, numbers_.reals.size() * sizeof(double));
  }

 private:
  Numbers numbers_;
  const std::byte* source_ = nullptr;
};

template <class D>
class TextCodec final : public Codec {
 public:
  explicit TextCodec(std::string_view name) : name_(name) {}
  std::string_view name() const override { return name_; }
  std::unique_ptr<Decoder> decoder(const FieldSchema&, const DecodeOptions&) const override {
    return std::make_unique<D>();
  }

 private:
  std::string_view name_;
};

}  // namespace

std::optional<std::int64_t> integer_in(std::span<const std::byte> bytes) {
  const std::string_view digits = trimmed(without_byte_order_mark(text(bytes)));
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc() && end == digits.data() + digits.size() ? std::optional(value) : std::nullopt;
}

const Codec& class_index_codec() {
  static const TextCodec<ClassIndexDecoder> codec("cls");
  return codec;
}

const Codec& txt_codec() {
  static const TextCodec<TxtDecoder> codec("txt");
  return codec;
}

const Codec& json_codec() {
  static const TextCodec<JsonDecoder> codec("json");
  return codec;
}

}  // namespace penstock
