#include <string>
#include <vector>

#include <transforms/image/jpt/encoder.hpp>

#include "fuzz/seeds.hpp"
#include "support/encoded.hpp"
#include "support/jpeg_files.hpp"

namespace penstock::fuzz {
namespace {

using test::Made;

void add_jpegs(const Seeds& seeds) {
  const std::vector<Made> kinds{
      {},
      {.horizontal = 1, .vertical = 1},
      {.horizontal = 2, .vertical = 1},
      {.progressive = true},
      {.components = 1, .horizontal = 1, .vertical = 1, .stored = JCS_GRAYSCALE, .given = JCS_GRAYSCALE},
      {.components = 1,
       .horizontal = 1,
       .vertical = 1,
       .progressive = true,
       .stored = JCS_GRAYSCALE,
       .given = JCS_GRAYSCALE},
      {.stored = JCS_RGB},
      {.components = 4, .stored = JCS_CMYK, .given = JCS_CMYK},
      {.components = 4, .stored = JCS_YCCK, .given = JCS_CMYK}};
  jpt::Encoder encoder(16);  // several tiles
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const std::vector<std::byte> file = test::make_jpeg(19, 17, kinds[i]);
    seeds.add("jpeg_codec", "kind" + std::to_string(i), text_of(file));
    const std::span<const std::byte> field = encoder.encode(file);
    if (!field.empty()) seeds.add("jpt_codec", "kind" + std::to_string(i), text_of(field));
  }
}

void add_pngs(const Seeds& seeds) {
  for (const std::int64_t channels : {1, 2, 3, 4}) {
    seeds.add("png_codec", "channels" + std::to_string(channels), text_of(test::png(test::picture(7, 5, channels, 1))));
  }
}

// Lossy, lossless, and lossy with alpha, of 5 x 4 pixels. Made by Pillow 13.
void add_webps(const Seeds& seeds) {
  const std::vector<std::string> kinds{
      std::string("\122\111\106\106\100\000\000\000\127\105\102\120\126\120\070\040\064\000\000\000\320\001\000\235\001"
                  "\052\005\000\004\000\004\000\150\045\260\002\164\000\364\207\373\154\000\000\373\165\347\261\035\224"
                  "\042\030\225\063\042\375\135\072\004\343\070\240\340\301\055\151\336\156\313\335\200\000",
                  72),
      std::string("\122\111\106\106\222\000\000\000\127\105\102\120\126\120\070\114\205\000\000\000\057\004\300\000\000"
                  "\237\300\066\262\155\045\363\177\356\356\222\032\320\177\005\244\326\006\041\275\050\215\154\047\222"
                  "\321\211\312\104\205\253\002\012\240\127\072\140\160\364\101\023\250\333\062\152\143\333\206\376\377"
                  "\226\036\164\241\123\005\210\365\144\204\162\321\276\233\377\350\301\376\043\131\334\371\311\145\110"
                  "\322\147\020\171\100\245\167\023\070\262\326\267\023\202\053\051\124\214\211\015\153\337\367\062\131"
                  "\042\127\235\043\153\120\330\266\221\032\072\306\347\217\350\177\274\234\153\043\034\271\304\135\026"
                  "\076\364\003\000",
                  154),
      std::string("\122\111\106\106\156\000\000\000\127\105\102\120\126\120\070\130\012\000\000\000\020\000\000\000\004"
                  "\000\000\003\000\000\101\114\120\110\025\000\000\000\000\211\256\127\210\234\101\225\263\215\167\174"
                  "\076\160\156\131\154\243\212\142\154\000\126\120\070\040\062\000\000\000\320\001\000\235\001\052\005"
                  "\000\004\000\005\100\174\045\260\002\164\001\016\376\003\216\000\000\360\036\370\021\274\021\307\164"
                  "\112\170\034\216\321\007\242\154\255\231\334\230\232\110\353\240\000\000",
                  118),
  };
  for (std::size_t i = 0; i < kinds.size(); ++i) seeds.add("webp_codec", "kind" + std::to_string(i), kinds[i]);
}

void add_arrays(const Seeds& seeds) {
  const auto numbers = test::to_bytes(std::vector<std::int32_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const std::vector<std::pair<std::string, Shape>> kinds{{"<i4", {4, 3}},    {">i4", {12}}, {"<f8", {3, 2}},
                                                         {"|u1", {4, 2, 6}}, {"|b1", {48}}, {"<f2", {2, 12}},
                                                         {"<i4", {}}};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const std::string bytes = text_of(test::npy(kinds[i].first, kinds[i].second, numbers));
    seeds.add("npy_codec", "kind" + std::to_string(i), bytes);
    seeds.add("npy", "kind" + std::to_string(i), bytes);
  }
}

void add_texts(const Seeds& seeds) {
  const std::vector<std::string> texts{"7\n",     " -12 ",      "[[1, 2], [3, 4.5e3]]", "[]",
                                       "[1,2,3]", "{\"a\": 1}", "18446744073709551616"};
  for (std::size_t i = 0; i < texts.size(); ++i) seeds.add("text_codec", "text" + std::to_string(i), texts[i]);
  const std::vector<std::string> patterns{"train-{000..146}.tar", "{a,b}/part-*.lmdb", "{a,{b,c}{1..3}}", "[a-c]?*",
                                          "{9..1}"};
  for (std::size_t i = 0; i < patterns.size(); ++i) seeds.add("pattern", "text" + std::to_string(i), patterns[i]);
  const std::vector<std::string> chains{
      "field(jpg|png) | image.random_resized_crop(224, scale=(0.08, 1.0)) | image.random_horizontal_flip(0.5) | "
      "image.normalize((0.5, 0.5, 0.5), (0.2, 0.2, 0.2))",
      "image.resize(256) | image.center_crop(224) | image.cast(float16) | image.channels_last()",
      "follow('jpg') | boxes()",
      "label()",
      "raw()",
      "array.random_slice(16) | array.cast(\"int32\")",
      "follow(jpg) | image.resize(1, 2) | keypoints()",
      "array.decode()",
      "image.decode()"};
  for (std::size_t i = 0; i < chains.size(); ++i) seeds.add("chain", "text" + std::to_string(i), chains[i]);
  seeds.add(
      "state", "state",
      R"({"penstock_state":1,"dataset":"0123456789abcdef","samples":10,"seed":1,"epoch":2,"start":3,"batch":4,"world":2,)"
      R"("batch_size":8,"transforms":"jpeg 1"})");
}

void add_labels(const Seeds& seeds) {
  const std::string kinds[] = {
      std::string("\0", 1) + "key,label\na,cat\nb,dog\n\"c/d\",\"cat\"\nc/e,dog\n",
      std::string("\0", 1) + "file;label\na.jpg;1;2\n",
      "\1key\tlabel\na\t0.5\nb\t1e3\nc/d\t-1\nc/e\t.25\n",
      "\2{\"a\": [1, 0], \"b\": [0, 1], \"c/d\": [1, 1], \"c/e\": [0, 0]}",
      "\2[{\"key\": \"a\", \"label\": \"x\"}, {\"key\": \"b\", \"label\": \"y\"}]",
      "\2{\"a\": {\"label\": 1}, \"b\": {\"label\": 2}, \"d\": {\"label\": 2}, \"e\": {\"label\": 2}}",
      "\3a cat\nb dog\nd cat\ne dog\n",
      "\7a cat\nb dog\nd cat\ne dog\n",
      "\3a [x, y]\nb x;y\nd x|y\ne 0.1 0.2\n",
      "\2[\"cat\", \"dog\"]",
      "\2{\"cat\": 0, \"dog\": 1}"};
  std::size_t number = 0;
  for (const std::string& kind : kinds) {
    seeds.add("labels", "kind" + std::to_string(number++), kind);
    seeds.add("labels", "kind" + std::to_string(number++), static_cast<char>(kind[0] + 64) + kind.substr(1));
  }
}

// Written by Python: pickle.dumps({"a.png": 1, "b": ["x", 2.5]}, P), and a uint8 array of NumPy 2.
void add_pickles(const Seeds& seeds) {
  using namespace std::string_literals;
  const std::string kinds[] = {
      "(dp0\nVa.png\np1\nI1\nsVb\np2\n(lp3\nVx\np4\naF2.5\nas."s,
      "\x80\x02}q\0(X\x05\0\0\0a.pngq\1K\1X\1\0\0\0bq\2]q\3(X\1\0\0\0xq\4G@\4\0\0\0\0\0\0eu."s,
      "\x80\x04\x95\x26\0\0\0\0\0\0\0}\x94(\x8c\x05"
      "a.png\x94K\1\x8c\1b\x94]\x94(\x8c\1x\x94G@\4\0\0\0\0\0\0eu."s,
      "\x80\x02}U\x04"
      "datacnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85U\1b\x87R(K\1K\1M\0\x0c\x86"
      "cnumpy\ndtype\nU\2u1K\0K\1\x87R(K\3U\1|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb\x89T\0\x0c\0\0"s +
          std::string(3072, 'p') + "tbsU\6labels]K\5as."s};
  std::size_t number = 0;
  for (const std::string& kind : kinds) {
    seeds.add("pickle", "kind" + std::to_string(number), kind);
    seeds.add("cifar", "kind" + std::to_string(number), kind);
    seeds.add("table", "kind" + std::to_string(number++), "\4" + kind);
  }
  seeds.add("table", "csv", "\0path,label,note\na.png,cat,\"1, 2\"\na.png,dog,\n"s);
  seeds.add("table", "json", "\2[{\"path\": \"a.png\", \"label\": 1, \"box\": [1, 2.5]}]");
  seeds.add("table", "columns", "\2{\"path\": [\"a.png\"], \"label\": [\"x\"]}");
  seeds.add("table", "lines", "\3{\"file\": \"a.png\", \"x\": {\"y\": 1}}\n{\"file\": \"a.png\"}\n");
}

}  // namespace

void add_values(const Seeds& seeds) {
  add_jpegs(seeds);
  add_pngs(seeds);
  add_webps(seeds);
  add_arrays(seeds);
  add_texts(seeds);
  add_labels(seeds);
  add_pickles(seeds);
}

}  // namespace penstock::fuzz
