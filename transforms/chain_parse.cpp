#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include <penstock/formats/error.hpp>
#include <penstock/transforms/chain.hpp>

namespace penstock {
namespace {

/// One argument of a step: a number, a word, or a list of numbers or words.
struct Argument {
  std::string keyword;  ///< of keyword=...; else empty
  std::string word;     ///< "float32"; empty for numbers
  std::vector<double> numbers;
  std::vector<std::string> words;  ///< of a list
  bool list = false;
};

using Arguments = std::vector<Argument>;

Error misfit(std::string cause) {
  return Error::invalid_argument(std::move(cause));
}

/// Reads  part | part | ...  with  part = name(argument, ...)  and  argument = [keyword=] (number | word | [number,
/// ...]).
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

  // What stands in field(...) and follow(...): names, with or without quotes.
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

  Arguments arguments() {
    Arguments list;
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

std::int64_t whole_number(double number, std::string_view keyword) {
  const bool fits = number >= 0 && number < 1e15;
  const auto value = fits ? static_cast<std::int64_t>(number) : -1;
  if (!fits || static_cast<double>(value) != number) throw misfit(std::string(keyword) + " is to be a whole number");
  return value;
}

/// The arguments of one step, asked for by place or keyword; what nobody asked for is an error.
class Given {
 public:
  static constexpr std::size_t kByKeyword = ~std::size_t{0};

  explicit Given(Arguments arguments) : arguments_(std::move(arguments)), used_(arguments_.size(), false) {}

  const Argument* find(std::size_t place, std::string_view keyword) {
    std::size_t position = 0;
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      const bool found =
          arguments_[i].keyword.empty() ? position++ == place : !keyword.empty() && arguments_[i].keyword == keyword;
      if (!found) continue;
      used_[i] = true;
      return &arguments_[i];
    }
    return nullptr;
  }

  const Argument& get(std::size_t place, std::string_view keyword) {
    const Argument* found = find(place, keyword);
    if (found == nullptr) throw misfit("needs " + std::string(keyword));
    return *found;
  }

  std::int64_t whole(std::size_t place, std::string_view keyword) {
    const Argument& argument = get(place, keyword);
    return whole_number(argument.numbers.size() == 1 ? argument.numbers[0] : -1, keyword);
  }

  std::pair<double, double> range(std::string_view keyword, std::pair<double, double> usual) {
    const Argument* argument = find(kByKeyword, keyword);
    if (argument == nullptr) return usual;
    if (argument->numbers.size() != 2) throw misfit(std::string(keyword) + " is to be a pair of numbers");
    return {argument->numbers[0], argument->numbers[1]};
  }

  double real(std::size_t place, std::string_view keyword, double usual) {
    const Argument* argument = find(place, keyword);
    if (argument == nullptr) return usual;
    if (argument->numbers.size() != 1 || argument->list) throw misfit(std::string(keyword) + " is to be a number");
    return argument->numbers[0];
  }

  std::string text(std::size_t place, std::string_view keyword, std::string usual) {
    const Argument* argument = find(place, keyword);
    if (argument == nullptr) return usual;
    if (argument->word.empty()) throw misfit(std::string(keyword) + " is to be a word");
    return argument->word;
  }

  bool flag(std::string_view keyword) {
    const std::string word = text(kByKeyword, keyword, "false");
    if (word == "true" || word == "True") return true;
    if (word != "false" && word != "False") throw misfit(std::string(keyword) + " is to be true or false");
    return false;
  }

  std::int64_t whole(std::size_t place, std::string_view keyword, std::int64_t usual) {
    return find(place, keyword) == nullptr ? usual : whole(place, keyword);
  }

  bool flag(std::size_t place, std::string_view keyword) {
    const std::string word = text(place, keyword, "false");
    if (word != "true" && word != "false") throw misfit(std::string(keyword) + " is to be true or false");
    return word == "true";
  }

  /// A number x as usual(x), or a pair of numbers.
  template <typename Usual>
  Range span(std::size_t place, std::string_view keyword, Range absent, Usual usual) {
    const Argument* argument = find(place, keyword);
    if (argument == nullptr) return absent;
    if (argument->numbers.size() == 2) return {argument->numbers[0], argument->numbers[1]};
    return usual(real(place, keyword, 0));
  }

  /// A number for all sides; left and right, top and bottom; or left, top, right, bottom.
  Padding padding(std::size_t place, std::string_view keyword) {
    const Argument* argument = find(place, keyword);
    if (argument == nullptr) return {};
    std::vector<std::int64_t> sides;
    for (const double side : argument->numbers) sides.push_back(whole_number(side, keyword));
    if (sides.size() == 1) return Padding::all(sides[0]);
    if (sides.size() == 2) return {sides[0], sides[1], sides[0], sides[1]};
    if (sides.size() != 4) throw misfit(std::string(keyword) + " is to be 1, 2 or 4 numbers");
    return {sides[0], sides[1], sides[2], sides[3]};
  }

  Fill fill(std::size_t place) {
    const Argument* argument = find(place, "fill");
    if (argument == nullptr) return {0};
    Fill values;
    for (const double value : argument->numbers) values.push_back(whole_number(value, "fill"));
    return values;
  }

  std::vector<float> floats(std::size_t place, std::string_view keyword) {
    const Argument& argument = get(place, keyword);
    if (!argument.word.empty()) throw misfit(std::string(keyword) + " is to be a list of numbers");
    return {argument.numbers.begin(), argument.numbers.end()};
  }

  /// Height and width: two numbers, one for both, or a pair.
  std::optional<std::pair<std::int64_t, std::int64_t>> two_sides() {
    const Argument& first = get(0, "size");
    if (first.list) {
      if (first.numbers.size() != 2) throw misfit("size is to be one number or two");
      return std::pair{whole_number(first.numbers[0], "size"), whole_number(first.numbers[1], "size")};
    }
    const std::int64_t height = whole(0, "size");
    if (find(1, "") == nullptr) return std::nullopt;
    return std::pair{height, whole(1, "width")};
  }

  void none_left() const {
    if (std::ranges::find(used_, false) != used_.end()) throw misfit("has more arguments than it takes");
  }

 private:
  Arguments arguments_;
  std::vector<bool> used_;
};

struct Builder {
  std::string_view name;
  Chain (*build)(Given& given);
};

DType dtype_in(Given& given) {
  const std::string& word = given.get(0, "dtype").word;
  const auto dtype = dtype_named(word);
  if (!dtype) throw misfit("there is no dtype \"" + word + "\"");
  return *dtype;
}

Chain center_crop(Given& given) {
  const auto sides = given.two_sides();
  if (!sides) return image::center_crop(given.whole(0, "size"));
  Chain chain;
  chain.steps.emplace_back(step::CenterCrop{.width = sides->second, .height = sides->first});
  return chain;
}

Chain random_resized_crop(Given& given) {
  const auto sides = given.two_sides();
  const std::int64_t height = sides ? sides->first : given.whole(0, "size");
  return image::random_resized_crop(height, sides ? sides->second : height, given.range("scale", {0.08, 1.0}),
                                    given.range("ratio", {3.0 / 4.0, 4.0 / 3.0}),
                                    given.text(Given::kByKeyword, "interpolation", "bilinear"));
}

Chain resize(Given& given) {
  const auto sides = given.two_sides();
  const std::string interpolation = given.text(Given::kByKeyword, "interpolation", "bilinear");
  return sides ? image::resize(sides->first, sides->second, interpolation)
               : image::resize(given.whole(0, "size"), interpolation);
}

Chain random_crop(Given& given) {
  const auto sides = given.two_sides();
  const std::int64_t height = sides ? sides->first : given.whole(0, "size");
  return image::random_crop(height, sides ? sides->second : height,
                            {.padding = given.padding(Given::kByKeyword, "padding"),
                             .pad_if_needed = given.flag(Given::kByKeyword, "pad_if_needed"),
                             .fill = given.fill(Given::kByKeyword),
                             .padding_mode = given.text(Given::kByKeyword, "padding_mode", "constant")});
}

Chain pad(Given& given) {
  given.get(0, "padding");
  return image::pad(given.padding(0, "padding"),
                    {.fill = given.fill(1), .padding_mode = given.text(2, "padding_mode", "constant")});
}

Range about_zero(double reach) {
  return {-reach, reach};
}

Range about_one(double reach) {
  if (!(reach >= 0)) throw misfit("takes no negative numbers");
  return {std::max(0.0, 1 - reach), 1 + reach};
}

Range exactly(double value) {
  return {value, value};
}

Range degrees_in(Given& given) {
  given.get(0, "degrees");
  return given.span(0, "degrees", {}, about_zero);
}

Chain random_rotation(Given& given) {
  return image::random_rotation(degrees_in(given), given.text(1, "interpolation", "nearest"), given.fill(2));
}

Chain random_affine(Given& given) {
  const Range degrees = degrees_in(given);
  const auto [across, down] = given.range("translate", {0, 0});
  image::AffineKeywords keywords{.translate_x = across, .translate_y = down};
  keywords.scale = given.span(Given::kByKeyword, "scale", {1, 1}, exactly);
  const Argument* shear = given.find(Given::kByKeyword, "shear");
  if (shear != nullptr && shear->numbers.size() == 4) {
    keywords.shear_x = {shear->numbers[0], shear->numbers[1]};
    keywords.shear_y = {shear->numbers[2], shear->numbers[3]};
  } else {
    keywords.shear_x = given.span(Given::kByKeyword, "shear", {0, 0}, about_zero);
  }
  keywords.interpolation = given.text(Given::kByKeyword, "interpolation", "nearest");
  keywords.fill = given.fill(Given::kByKeyword);
  return image::random_affine(degrees, keywords);
}

Chain color_jitter(Given& given) {
  return image::color_jitter({.brightness = given.span(0, "brightness", {1, 1}, about_one),
                              .contrast = given.span(1, "contrast", {1, 1}, about_one),
                              .saturation = given.span(2, "saturation", {1, 1}, about_one),
                              .hue = given.span(3, "hue", {0, 0}, about_zero),
                              .probability = given.real(4, "probability", 1)});
}

Chain gaussian_blur(Given& given) {
  const std::int64_t height = given.whole(0, "kernel");
  const bool square = given.find(1, "") == nullptr;
  return image::gaussian_blur(height, square ? height : given.whole(1, "width"),
                              given.span(Given::kByKeyword, "sigma", {0.1, 2.0}, exactly),
                              given.real(Given::kByKeyword, "probability", 1));
}

Chain random_erasing(Given& given) {
  image::ErasingKeywords keywords{.probability = given.real(0, "probability", 0.5)};
  keywords.scale = given.span(1, "scale", keywords.scale, exactly);
  keywords.ratio = given.span(2, "ratio", keywords.ratio, exactly);
  if (const Argument* value = given.find(3, "value")) {
    keywords.value = value->numbers;
    if (keywords.value.empty() && value->word != "random") throw misfit("value is to be numbers or random");
  }
  return image::random_erasing(keywords);
}

Chain sample(Given& given) {
  points::SampleKeywords keywords;
  const std::int64_t wanted = given.whole(0, "points");
  const std::string method = given.text(1, "method", "random");
  keywords.size = given.real(Given::kByKeyword, "size", keywords.size);
  keywords.voxel = given.text(Given::kByKeyword, "voxel", keywords.voxel);
  keywords.slices = given.whole(Given::kByKeyword, "slices", keywords.slices);
  keywords.blocks = given.whole(Given::kByKeyword, "blocks", keywords.blocks);
  keywords.few = given.text(Given::kByKeyword, "few", keywords.few);
  return points::sample(wanted, method, keywords);
}

Chain decode_points(Given& given) {
  const Argument* attributes = given.find(0, "attributes");
  if (attributes != nullptr && !attributes->list) throw misfit("attributes is to be a list of names");
  return points::decode(attributes == nullptr ? std::vector<std::string>{} : attributes->words,
                        given.whole(1, "columns", 0));
}

constexpr std::array kBuilders{
    Builder{"array.cast", [](Given& given) { return array::cast(dtype_in(given)); }},
    Builder{"array.decode", [](Given&) { return array::decode(); }},
    Builder{"array.random_window", [](Given& given) { return array::random_window(given.whole(0, "rows")); }},
    Builder{"boxes", [](Given&) { return boxes(); }},
    Builder{"cast", [](Given& given) { return array::cast(dtype_in(given)); }},
    Builder{"image.cast", [](Given& given) { return image::cast(dtype_in(given)); }},
    Builder{"image.center_crop", center_crop},
    Builder{"image.channels_last", [](Given&) { return image::channels_last(); }},
    Builder{"image.decode",
            [](Given& given) { return image::decode(given.flag("fast"), given.flag("apply_exif_orientation")); }},
    Builder{"image.normalize",
            [](Given& given) { return image::normalize(given.floats(0, "mean"), given.floats(1, "stddev")); }},
    Builder{"image.color_jitter", color_jitter},
    Builder{"image.gaussian_blur", gaussian_blur},
    Builder{"image.grayscale", [](Given& given) { return image::grayscale(given.whole(0, "channels", 1)); }},
    Builder{"image.pad", pad},
    Builder{"image.rand_augment",
            [](Given& given) {
              return image::rand_augment(given.whole(0, "num_ops", 2), given.whole(1, "magnitude", 9),
                                         given.whole(2, "bins", 31), given.text(3, "interpolation", "nearest"),
                                         given.fill(4));
            }},
    Builder{"image.random_affine", random_affine},
    Builder{"image.random_autocontrast",
            [](Given& given) { return image::random_autocontrast(given.real(0, "probability", 0.5)); }},
    Builder{"image.random_crop", random_crop},
    Builder{"image.random_equalize",
            [](Given& given) { return image::random_equalize(given.real(0, "probability", 0.5)); }},
    Builder{"image.random_erasing", random_erasing},
    Builder{"image.random_flip", [](Given& given) { return image::random_flip(given.real(0, "probability", 0.5)); }},
    Builder{"image.random_grayscale",
            [](Given& given) { return image::random_grayscale(given.real(0, "probability", 0.1)); }},
    Builder{"image.random_invert",
            [](Given& given) { return image::random_invert(given.real(0, "probability", 0.5)); }},
    Builder{"image.random_posterize",
            [](Given& given) {
              return image::random_posterize(given.whole(0, "bits"), given.real(1, "probability", 0.5));
            }},
    Builder{"image.random_resized_crop", random_resized_crop},
    Builder{"image.random_rotation", random_rotation},
    Builder{"image.random_sharpness",
            [](Given& given) {
              given.get(0, "factor");
              return image::random_sharpness(given.real(0, "factor", 1), given.real(1, "probability", 0.5));
            }},
    Builder{"image.random_solarize",
            [](Given& given) {
              given.get(0, "threshold");
              return image::random_solarize(given.real(0, "threshold", 0), given.real(1, "probability", 0.5));
            }},
    Builder{"image.random_vertical_flip",
            [](Given& given) { return image::random_vertical_flip(given.real(0, "probability", 0.5)); }},
    Builder{"image.resize", resize},
    Builder{"image.trivial_augment",
            [](Given& given) {
              return image::trivial_augment(given.whole(0, "bins", 31), given.text(1, "interpolation", "nearest"),
                                            given.fill(2));
            }},
    Builder{"key_points", [](Given&) { return key_points(); }},
    Builder{"label", [](Given& given) { return label(given.whole(0, "classes", 0)); }},
    Builder{"points.attribute", [](Given& given) { return points::attribute(given.text(0, "name", "")); }},
    Builder{"points.cast", [](Given& given) { return points::cast(dtype_in(given)); }},
    Builder{"points.center", [](Given&) { return points::center(); }},
    Builder{"points.channels_first", [](Given&) { return points::channels_first(); }},
    Builder{"points.decode", decode_points},
    Builder{"points.dropout", [](Given& given) { return points::dropout(given.real(0, "most", 0.875)); }},
    Builder{"points.finite", [](Given&) { return points::finite(); }},
    Builder{"points.jitter",
            [](Given& given) { return points::jitter(given.real(0, "sigma", 0.01), given.real(1, "clip", 0.05)); }},
    Builder{"points.mask", [](Given&) { return points::mask(); }},
    Builder{"points.origin", [](Given&) { return points::origin(); }},
    Builder{"points.pad", [](Given& given) { return points::pad(given.whole(0, "points")); }},
    Builder{"points.poisson", [](Given& given) { return points::poisson(given.real(0, "distance", 0)); }},
    Builder{"points.random_scale",
            [](Given& given) { return points::random_scale(given.real(0, "low", 0.8), given.real(1, "high", 1.25)); }},
    Builder{"points.rotate", [](Given& given) { return points::rotate(given.text(0, "about", "z")); }},
    Builder{"points.sample", sample},
    Builder{"points.scale", [](Given& given) { return points::scale(given.real(0, "factor", 1)); }},
    Builder{"points.shift", [](Given& given) { return points::shift(given.real(0, "range", 0.1)); }},
    Builder{"points.shuffle", [](Given&) { return points::shuffle(); }},
    Builder{"points.surface", [](Given& given) { return points::surface(given.whole(0, "points")); }},
    Builder{"points.unit_box", [](Given&) { return points::unit_box(); }},
    Builder{"points.unit_sphere", [](Given&) { return points::unit_sphere(); }},
    Builder{"points.voxel",
            [](Given& given) { return points::voxel(given.real(0, "size", 0), given.text(1, "mode", "centroid")); }},
    Builder{"raw", [](Given&) { return raw(); }},
};

Chain ChainReader::part() {
  const std::string name = word();
  expect('(');
  if (name == "field") return field(names());
  if (name == "follow") return follow(names());
  Given given(arguments());
  for (const Builder& builder : kBuilders) {
    if (builder.name != name) continue;
    try {
      Chain chain = builder.build(given);
      given.none_left();
      return chain;
    } catch (const Error& error) {
      fail(name + "() " + error.cause());
    }
  }
  fail("there is no step \"" + name + "\" that can be written as text");
}

}  // namespace

Chain parse_chain(std::string_view text) {
  return text.find_first_not_of(' ') == std::string_view::npos ? Chain{} : ChainReader(text).read();
}

}  // namespace penstock
