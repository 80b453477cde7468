#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/error.hpp>
#include <transforms/chain/renamed_words.hpp>
#include <transforms/output.hpp>
#include <transforms/program/program.hpp>

#include "support/filled.hpp"

namespace penstock::test::chain_test {
namespace {

const std::vector<float> kMean{0.485F, 0.456F, 0.406F}, kDeviation{0.229F, 0.224F, 0.225F};

Fields photographs() {
  Fields fields;
  fields.add({.name = "jpg", .codec = "jpeg"}, test::jpeg(test::picture(40, 30, 3, 1)));
  fields.add({.name = "cls", .codec = "cls"}, test::to_bytes("7"));
  fields.add({.name = "npy", .codec = "npy"}, test::npy("<f4", {5, 2}, test::to_bytes(std::vector<float>(10))));
  fields.add({.name = "seg.png", .codec = "png"}, test::png(test::picture(40, 30, 1, 2)));
  fields.add({.name = "png", .codec = "png"}, {});
  return fields;
}

// What compiling one output says, or "compiles".
std::string outcome(const std::string& output, const Chain& chain) {
  const Fields fields = photographs();
  try {
    const std::vector<FieldChain> chains{{output, chain}};
    const Program program(chains, fields.catalog());
    return "compiles";
  } catch (const Error& error) {
    return error.what();
  }
}

void refuses(const std::string& output, const Chain& chain, const std::string& cause) {
  CHECK_MESSAGE(outcome(output, chain).find(cause) != std::string::npos, outcome(output, chain));
}

}  // namespace

TEST_CASE("a chain prints as it is written, in one spelling") {
  const Chain chain = field("jpg|png") | image::random_resized_crop(224) | image::random_horizontal_flip() |
                      image::normalize(kMean, kDeviation) | image::cast(DType::bf16) | image::channels_last();
  CHECK(to_string(chain) ==
        "field(jpg|png) | image.random_resized_crop(224, 224, scale=(0.08, 1), ratio=(0.75, 1.3333333333333333)) | "
        "image.random_horizontal_flip(0.5) | image.normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]) | "
        "cast(bfloat16) | "
        "image.channels_last()");
  CHECK(to_string(follow("jpg") | boxes()) == "follow(jpg) | boxes()");
  CHECK(to_string(array::decode() | array::random_slice(16)) == "array.decode() | array.random_slice(16)");
  CHECK(to_string(image::resize(256) | image::center_crop(224)) == "image.resize(256) | image.center_crop(224)");
}

TEST_CASE("a chain's text reads back as the same chain") {
  const std::vector<Chain> chains{
      {},
      field("jpg|png") | image::random_resized_crop(224) | image::random_horizontal_flip() |
          image::normalize(kMean, kDeviation) | image::cast(DType::bf16) | image::channels_last(),
      image::decode() | image::random_resized_crop(3, 5, {0.1, 0.123456789012345678}, {1.0 / 3.0, 3.0}) |
          image::random_horizontal_flip(0.3),
      image::resize(256) | image::center_crop(224),
      image::decode(true, true) | image::resize(8),
      image::decode(false, true),
      image::resize(1, 2) | image::normalize({0.1F}, {0.3333333F}),
      follow("jpg") | boxes(),
      follow("jpg") | keypoints(),
      field("seg.png") | follow("jpg") | array::cast(DType::i64),
      array::decode() | array::random_slice(16),
      label(),
      raw()};
  for (const Chain& chain : chains) {
    CAPTURE(to_string(chain));
    const Chain again = parse_chain(to_string(chain));
    CHECK(to_string(again) == to_string(chain));
    CHECK(again.sources == chain.sources);
    CHECK(again.followed == chain.followed);
    CHECK(again.steps.size() == chain.steps.size());
  }
}

TEST_CASE("a chain is read as a person would write it") {
  const auto reads_as = [](const char* text, const Chain& chain) {
    CHECK(to_string(parse_chain(text)) == to_string(chain));
  };
  reads_as("image.random_resized_crop(224)|image.random_horizontal_flip()",
           image::random_resized_crop(224) | image::random_horizontal_flip());
  reads_as(" field( \"jpg|png\" ) | image.resize((3, 4)) ", field("jpg|png") | image::resize(3, 4));
  reads_as("image.random_resized_crop([2, 3], ratio=[0.5, 2])", image::random_resized_crop(2, 3, {0.08, 1}, {0.5, 2}));
  reads_as("image.random_horizontal_flip(probability=0.25)", image::random_horizontal_flip(0.25));
  reads_as("image.normalize(0.5, 0.25)", image::normalize({0.5F}, {0.25F}));
}

TEST_CASE("a chain that makes no sense is refused at the character where it stops making sense") {
  const auto refused = [](const std::string& text, const std::string& cause) {
    try {
      parse_chain(text);
      FAIL_CHECK(text);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::invalid_argument);
      CHECK_MESSAGE(error.cause().find(cause) != std::string::npos, error.what());
    }
  };
  refused("image.resize(3", "character 15: ',' expected");
  refused("image.resize(3) image.resize(3)", "character 17: '|' expected");
  refused("image.resize(3) |", "a name expected");
  refused("image.rezise(3)", "there is no step \"image.rezise\"");
  refused("image.random_flip()", "there is no step \"image.random_flip\": it is image.random_horizontal_flip() now");
  refused("image.normalize([1], stddev=[1])", "takes no argument \"stddev\": it is std now");
  refused("label(classes=3)", "takes no argument \"classes\": it is num_classes now");
  refused("image.resize(1, 2, 3)", "too many arguments");
  refused("image.resize(1.5)", "size must be a whole number");
  refused("image.resize((1e300, 2))", "size must be a whole number");
  refused("image.center_crop((-1, 2))", "size must be a whole number");
  refused("image.resize(-1)", "size must be a whole number");
  refused("image.resize(1e300)", "size must be a whole number");
  refused("image.cast(float12)", "unknown dtype \"float12\"; expected uint8, int8");
  refused("image.normalize([1, 2]", "expected");
  refused("image.normalize([1])", "needs std");
  refused("image.random_resized_crop(2, shape=(1, 2))", "takes no argument \"shape\", or it is given twice");
  refused("label", "'(' expected");
  refused("field(jpg", "')' expected");
}

TEST_CASE("what was saved with old names of steps and parameters is read with the present ones") {
  CHECK(in_present_words("transforms 1; jpg = image.random_flip(0.5); image.random_flip = follow(jpg) | key_points(); "
                         "cls = label(classes=3); mix: mixup(0.2, classes=3)") ==
        "transforms 1; jpg = image.random_horizontal_flip(0.5); image.random_flip = follow(jpg) | keypoints(); "
        "cls = label(num_classes=3); mix: mixup(0.2, num_classes=3)");
  for (const char* text : {"", "x", "\"", "field(key_points) | boxes()",
                           "window(jpg, offsets=[0], group=\"key_points()\", edge=\"pad\")", "pad(classes=3)"}) {
    const std::string_view kept(text);
    CHECK(in_present_words(kept) == kept);
  }
}

TEST_CASE("the version names codecs, transforms and chains, and differs when a chain does") {
  const Fields fields = photographs();
  const auto version = [&](std::int64_t size) {
    const std::vector<FieldChain> chains{{"jpg", image::random_resized_crop(size)}, {"cls", label()}};
    return Program(chains, fields.catalog()).version();
  };
  CHECK(version(8).find("transforms 1; cls 1; jpeg 1; jpg = image.random_resized_crop(8, 8") == 0);
  CHECK(version(8).find("cls = label()") != std::string::npos);
  CHECK(version(8) == version(8));
  CHECK(version(8) != version(9));
}

TEST_CASE("an array whose channels come first is told how it becomes an image") {
  const auto told = [](const char* dtype, const Shape& shape, std::size_t bytes) -> std::string {
    Fields fields;
    fields.add({.name = "npy", .codec = "npy"}, npy(dtype, shape, Bytes(bytes)));
    try {
      const std::vector<FieldChain> chains{{"npy", image::resize(4)}};
      const Program program(chains, fields.catalog());
      return "compiles";
    } catch (const Error& error) {
      return error.what();
    }
  };
  const std::string advice = "not an image: its channels seem to come first";
  CHECK_MESSAGE(told("|u1", {3, 8, 8}, 192).find(advice) != std::string::npos, told("|u1", {3, 8, 8}, 192));
  CHECK(told("|u1", {1, 8, 8}, 64).find(advice) != std::string::npos);
  CHECK(told("|u1", {5, 8, 8}, 320).ends_with("not an image"));
  CHECK(told("<f4", {3, 8, 8}, 768).ends_with("not an image"));
  CHECK(told("|u1", {8, 8, 3}, 192) == "compiles");
}

TEST_CASE("a field that is absent is told with what the dataset knows of it") {
  const Fields fields = photographs();
  FieldCatalog catalog = fields.catalog();
  catalog.why_absent = [](const std::string& field) { return field == "depth" ? "no camera" : std::string(); };
  const auto told = [&](const char* field) -> std::string {
    const std::vector<FieldChain> chains{{field, {}}};
    try {
      const Program program(chains, catalog);
      return "compiles";
    } catch (const Error& error) {
      return error.what();
    }
  };
  CHECK(told("depth").find("png); no camera") != std::string::npos);
  CHECK(told("deep").find("; field(\"NAME\") | ... reads a field of another name") != std::string::npos);
}

TEST_CASE("fields that the dataset lacks are named, with those it has") {
  refuses("webp", image::decode(),
          "output \"webp\" = image.decode(): the dataset has no field \"webp\" (it has: jpg, cls");
  refuses("image", field("webp|gif") | image::decode(), "no field \"webp\"");
  CHECK(outcome("image", field("webp|jpg") | image::decode()) == "compiles");
  CHECK(outcome("image", image::decode()).find("field(\"NAME\") | ... reads a field of another name") !=
        std::string::npos);
}

// What makes no sense whatever the step is applied to is told where it is written.
template <typename Write>
void refuses_writing(Write write, const std::string& cause) {
  try {
    write();
    FAIL_CHECK("written without an error: " << cause);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::invalid_argument);
    CHECK_MESSAGE(error.cause().find(cause) != std::string::npos, error.cause());
  }
}

TEST_CASE("steps out of order or of another kind are refused with the step's name") {
  refuses("jpg", image::normalize(kMean, kDeviation) | image::random_horizontal_flip(),
          "image.random_horizontal_flip(0.5) must come before");
  refuses("jpg", image::random_horizontal_flip() | image::decode(),
          "image.decode() must come before image.random_horizontal_flip(0.5)");
  refuses("jpg", image::normalize(kMean, kDeviation) | image::normalize(kMean, kDeviation),
          "cannot come after image.normalize");
  refuses("jpg", image::cast(DType::f32) | image::normalize(kMean, kDeviation), "must come before cast(float32)");
  refuses("jpg", image::decode() | array::random_slice(2), "cannot be combined in one chain");
  refuses("jpg", array::decode(), "holds images (jpeg), not arrays");
  refuses("npy", image::resize(8), "field \"npy\" is a float32 array (5, 2), not an image");
  refuses("cls", label() | array::cast(DType::f32), "label() must be the only step");
  refuses("jpg", raw() | image::decode(), "raw() must be the only step");
  refuses("jpg", label(), "label() cannot read field \"jpg\", which holds images");
  refuses("npy", array::cast(DType::f32) | array::decode(), "cannot come after cast(float32)");
  refuses("npy", array::random_slice(2) | array::decode(), "array.decode() must come first");
  refuses("jpg", image::decode() | field("jpg"), "field() must come first");
  refuses("jpg", image::decode() | follow("png"), "follow() must come before the steps");
  refuses_writing([] { return field("jpg||png"); }, "has an empty name");
  refuses("npy", boxes(), "boxes() must come after follow(\"OUTPUT\")");
  refuses("npy", keypoints(), "keypoints() must come after follow(\"OUTPUT\")");
  refuses("valid", valid_mask(), "valid_mask() must come after follow(\"OUTPUT\")");
}

TEST_CASE("numbers that make no sense are refused where they are written, or before any sample is read") {
  refuses_writing([] { return image::random_resized_crop(0); }, "size of at least 1 pixel");
  refuses_writing([] { return image::random_resized_crop(8, {0.0, 1.0}); }, "0 < scale[0]");
  refuses_writing([] { return image::random_resized_crop(8, {0.5, 1.5}); }, "scale[1] <= 1");
  refuses_writing([] { return image::random_resized_crop(8, {0.5, 1.0}, {2.0, 1.0}); }, "ratio[0] <= ratio[1]");
  refuses_writing([] { return image::resize(0); }, "size of at least 1 pixel");
  refuses_writing([] { return image::resize(-1, 5); }, "size of at least 1 pixel");
  refuses_writing([] { return image::center_crop(-3); }, "size of at least 1 pixel");
  refuses_writing([] { return image::random_horizontal_flip(1.5); }, "probability from 0 to 1");
  refuses_writing([] { return image::normalize({0.5F, 0.5F}, {1, 1}); }, "equally many means and deviations");
  refuses_writing([] { return image::normalize({0.5F, 0.5F, 0.5F}, {1}); }, "equally many means and deviations");
  refuses_writing([] { return image::normalize(kMean, {1, 0, 1}); }, "deviations above 0");
  refuses("jpg", image::cast(DType::i64), "float32, float16, bfloat16, uint8 or uint16");
  refuses("jpg", image::normalize(kMean, kDeviation) | image::cast(DType::u8), "cannot be cast to uint8");
  refuses_writing([] { return array::random_slice(0); }, "array.random_slice() needs at least 1 row");
  refuses_writing([] { return image::random_posterize(-1); }, "image.random_posterize() needs bits from 0 to 8");
  refuses_writing([] { return image::random_posterize(9); }, "image.random_posterize() needs bits from 0 to 8");
  refuses_writing([] { return image::resize(8, "cubic"); }, "not \"cubic\"");
  refuses_writing([] { return image::pad({1, 1, 1, 1}, {.padding_mode = "wrap"}); }, "not \"wrap\"");
  refuses_writing([] { return label(-1); }, "num_classes must not be negative");
  refuses_writing([] { return points::sample(10, "farthest"); }, "not \"farthest\"");
  refuses_writing([] { return points::sample(10, "stratified", {.slices = 0}); }, "0 slices");
  refuses_writing([] { return points::voxel(1, "last"); },
                  "points.voxel(): mode must be centroid, first or random, not \"last\"");
  refuses_writing([] { return points::poisson(0); }, "a size above 0");
  refuses_writing([] { return points::random_rotate("x"); }, "about must be");
  refuses_writing([] { return points::decode({}, 2); }, "columns must be between 3");
  refuses_writing([] { return parse_chain("image.random_horizontal_flip(2)"); },
                  "character 32: image.random_horizontal_flip() needs");
  Chain by_hand;
  by_hand.steps.emplace_back(step::RandomHorizontalFlip{.probability = 2});
  refuses(
      "jpg", by_hand,
      "output \"jpg\" = image.random_horizontal_flip(2): image.random_horizontal_flip() needs probability from 0 to 1");
  refuses("cls", array::random_slice(1), "arrays of rows");
}

TEST_CASE("numbers in text are never delivered as the bytes of their digits") {
  Fields fields = photographs();
  fields.add({.name = "score.txt", .codec = "txt"}, to_bytes("0.5"));
  fields.add({.name = "table.csv", .codec = "xyz"}, to_bytes("a,b,c\n1,2,3\n"));
  const auto said = [&](const std::string& output, const Chain& chain) -> std::string {
    try {
      return std::string(name(Program(std::vector<FieldChain>{{output, chain}}, fields.catalog()).outputs()[0].dtype));
    } catch (const Error& error) {
      return error.cause();
    }
  };
  for (const std::string field : {"score.txt", "table.csv"}) {
    const std::string f32 = ": field \"" + field +
                            "\" is text: array.decode(\"float32\") reads the numbers in it, raw() delivers its bytes";
    CHECK(said(field, array::decode()) == "output \"" + field + "\" = array.decode()" + f32);
    CHECK(said(field, array::cast(DType::f32)) == "output \"" + field + "\" = cast(float32)" + f32);
    CHECK(said(field, array::cast(DType::i16)).find("array.decode(\"int16\")") != std::string::npos);
    CHECK(said(field, parse_chain("array.cast(int16)")).find("array.decode(\"int16\")") != std::string::npos);
    CHECK(said(field, array::random_slice(1)).find(" is text") != std::string::npos);
    CHECK(said(field, penstock::field("npy|" + field) | array::decode()).find(" is text") != std::string::npos);
    CHECK(said(field, array::decode({.dtype = DType::f32})) == "float32");
    CHECK(said(field, raw()) == "uint8");
  }
  CHECK(said("score.txt", Chain{}) == "uint8");
  CHECK(said("table.csv", Chain{}) == "float32");
  CHECK(said("table.csv", points::cast(DType::f16)) == "float16");
}

TEST_CASE("an output that no sample has, and a crop that the first image is too small for, are shape errors") {
  refuses("png", image::decode(), "shape: output \"png\" = image.decode(): no sample has this field");
  refuses("png", Chain{}, "no sample has this field");
  CHECK(outcome("jpg", image::center_crop(31)) == "compiles");  // known from the chain; samples are checked when filled
}

TEST_CASE("follow() needs a leader that is an image, and no circle") {
  const Fields fields = photographs();
  const auto outcome_of = [&](const std::vector<FieldChain>& chains) -> std::string {
    try {
      const Program program(chains, fields.catalog());
      return "compiles";
    } catch (const Error& error) {
      return error.what();
    }
  };
  const auto contains = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(contains(outcome_of({{"seg.png", follow("jpg")}}), "follow(\"jpg\"): unknown output"));
  CHECK(contains(outcome_of({{"a", field("seg.png") | follow("b")}, {"b", field("seg.png") | follow("a")}}),
                 "leads back to itself"));
  CHECK(contains(outcome_of({{"cls", label()}, {"seg.png", follow("cls")}}),
                 "\"cls\" cannot be followed, because it is neither an image nor points"));
  CHECK(contains(outcome_of({{"jpg", image::decode()}, {"seg.png", follow("jpg") | image::random_horizontal_flip()}}),
                 "image.random_horizontal_flip(0.5) cannot be applied to a mask"));
  CHECK(contains(outcome_of({{"jpg", image::decode()}, {"npy", follow("jpg") | boxes() | array::cast(DType::f16)}}),
                 "boxes() must be the only step"));
  CHECK(
      contains(outcome_of({{"jpg", image::decode()}, {"jpg", image::decode()}}), "two outputs have the name \"jpg\""));
  CHECK(outcome_of({{"a", field("seg.png") | follow("b")},
                    {"b", field("seg.png") | follow("jpg")},
                    {"jpg", image::decode()}}) == "compiles");
}

}  // namespace penstock::test::chain_test
