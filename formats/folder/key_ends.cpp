#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <base/printable.hpp>
#include <formats/folder/folder_names.hpp>
#include <formats/folder/key_ends.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

// "cat/shoot.RED.seg.png" has the stem "cat/shoot.RED.seg", the root "cat/shoot", and the words "RED.seg".
struct Name {
  std::string_view path;
  std::size_t stem = 0, root = 0;  // lengths
  bool media = false;
  std::optional<std::size_t> host = {};  // the name with the longest stem that this name's stem continues
  bool field = false;                    // the words belong to the field

  bool has_words() const { return root < stem; }
  std::string_view stem_text() const { return path.substr(0, stem); }
  std::string_view root_text() const { return path.substr(0, root); }
  std::string_view extension() const { return path.substr(stem + 1); }
  std::string_view words_after(std::size_t key) const { return path.substr(key + 1, stem - key - 1); }
  bool nested() const { return path.find('/') != std::string_view::npos; }
};

// Compressed files have two extensions: "scan.nii.gz".
std::size_t stem_length(std::string_view path) {
  static constexpr std::array<std::string_view, 6> kCompressed{".gz", ".zst", ".xz", ".bz2", ".lz4", ".Z"};
  const std::size_t dot = path.rfind('.');
  const bool compressed = std::ranges::find(kCompressed, path.substr(dot)) != kCompressed.end();
  return compressed ? path.rfind('.', dot - 1) : dot;
}

class Decision {
 public:
  explicit Decision(const std::vector<std::string_view>& paths) {
    names_.reserve(paths.size());
    for (const std::string_view path : paths) {
      const FileName split = split_file_name(path);
      names_.push_back({.path = path,
                        .stem = std::max(stem_length(path), split.key.size()),
                        .root = split.key.size(),
                        .media = is_media(split.extension)});
      if (names_.back().media) media_roots_.insert(split.key);
    }
  }

  KeyEnds by_evidence() {
    find_hosts();
    decide_hosted();
    decide_others();
    return ends();
  }

  KeyEnds by_option(bool last_dot) {
    for (Name& name : names_) name.field = !last_dot;
    return ends();
  }

 private:
  void find_hosts() {
    for (std::size_t i = 0; i < names_.size(); ++i) files_of_[names_[i].stem_text()].push_back(i);
    for (Name& name : names_) {
      for (std::size_t end = name.stem; end > name.root && !name.host;) {
        end = name.path.rfind('.', end - 1);
        const auto found = files_of_.find(name.path.substr(0, end));
        if (found != files_of_.end()) name.host = found->second.front();
      }
    }
  }

  // Words that extend the stem of a file without words belong to fields. This holds for all names with these words.
  void decide_hosted() {
    std::map<std::string_view, std::set<std::string_view>> stems_of;  // by words
    for (const Name& name : names_) {
      if (name.host && !names_[*name.host].has_words()) stems_of[words_of(name)].insert(host_stem(name));
    }
    for (Name& name : names_) {
      if (!name.has_words()) continue;
      if (!name.host) {
        name.field = stems_of.contains(name.words_after(name.root));
        continue;
      }
      if (names_[*name.host].has_words()) continue;
      name.field = true;
      if (is_note(name)) continue;
      if (would_be_class_folders() && has_one_extension()) {
        refuse(name, names_[*name.host],
               "is it a field of that sample, or another sample with the label of its folder?");
      }
      if (stems_of[words_of(name)].size() > 1) continue;
      if (looks_like_sample(name) || (would_be_class_folders() && !is_only_sample(name))) {
        refuse(name, names_[*name.host], "is it a field of that sample, or another sample?");
      }
    }
  }

  std::string_view host_stem(const Name& name) const { return names_[*name.host].stem_text(); }
  std::string_view words_of(const Name& name) const { return name.words_after(names_[*name.host].stem); }

  // True if the longer stem has all extensions of the shorter one: shoot.jpg, shoot.txt and shoot.RED.jpg,
  // shoot.RED.txt.
  bool looks_like_sample(const Name& name) const {
    const auto& shorter = files_of_.at(host_stem(name));
    const auto& longer = files_of_.at(name.stem_text());
    return shorter.size() > 1 && std::ranges::all_of(shorter, [&](std::size_t i) {
             return std::ranges::any_of(longer,
                                        [&](std::size_t j) { return names_[i].extension() == names_[j].extension(); });
           });
  }

  // True for files such as texts if there are images, arrays or clouds but none has their stem. Notes are not evidence.
  bool is_note(const Name& name) const { return !media_roots_.empty() && !media_roots_.contains(name.root_text()); }

  bool is_only_sample(const Name& name) const {
    return std::ranges::all_of(
        names_, [&](const Name& other) { return is_note(other) || other.root_text() == name.root_text(); });
  }

  // Every file except notes is an image, array or cloud in a sub-folder, and no two share a stem.
  bool would_be_class_folders() {
    if (!class_folders_) {
      class_folders_ = !media_roots_.empty() && std::ranges::all_of(names_, [&](const Name& name) {
        return is_note(name) || (name.media && name.nested() && files_of_.at(name.stem_text()).size() == 1);
      });
    }
    return *class_folders_;
  }

  // Photographs in class folders usually have one extension. Fields usually differ: 0001.jpg and 0001.seg.png.
  bool has_one_extension() {
    if (!one_extension_) {
      const Name* first = nullptr;
      one_extension_ = std::ranges::all_of(names_, [&](const Name& name) {
        if (is_note(name)) return true;
        if (first == nullptr) first = &name;
        return name.extension() == first->extension();
      });
    }
    return *one_extension_;
  }

  // Decides the remaining words, which extend no stem of a file without words. All get the same answer.
  void decide_others() {
    std::map<std::string_view, std::set<std::string_view>> words_of_root, roots_of_word;
    std::vector<Name*> open;
    for (Name& name : names_) {
      if (!name.has_words() || name.field || name.host) continue;
      if (is_note(name)) {
        name.field = name.nested();  // at the top level each is a separate note
        continue;
      }
      open.push_back(&name);
      words_of_root[name.root_text()].insert(name.words_after(name.root));
      roots_of_word[name.words_after(name.root)].insert(name.root_text());
    }
    if (open.empty()) return;
    const bool joins = std::ranges::any_of(words_of_root, [](const auto& root) { return root.second.size() > 1; });
    const bool some_without = has_sample_without(words_of_root);
    const bool alike = !some_without && std::ranges::all_of(words_of_root, [&](const auto& root) {
      return root.second == words_of_root.begin()->second;
    });
    const bool companions =
        std::ranges::any_of(open, [&](const Name* name) { return files_of_.at(name->stem_text()).size() > 1; });
    const bool repeated = std::ranges::any_of(roots_of_word, [](const auto& word) { return word.second.size() > 1; });
    bool field = false;
    if (!joins) {
      field = alike;  // rules 2 and 4 of docs/formats.md
    } else if (alike && !companions && (words_of_root.size() > 1 || media_roots_.empty())) {
      field = true;  // rule 3
    } else if (alike ? words_of_root.size() > 1 || !companions
                     : repeated && !(some_without && would_be_class_folders())) {
      refuse_joined(open, words_of_root);
    }  // otherwise rules 5 to 7
    for (Name* name : open) name->field = field;
  }

  bool has_sample_without(const std::map<std::string_view, std::set<std::string_view>>& words_of_root) const {
    return std::ranges::any_of(
        names_, [&](const Name& name) { return !is_note(name) && !words_of_root.contains(name.root_text()); });
  }

  [[noreturn]] void refuse_joined(const std::vector<Name*>& open,
                                  const std::map<std::string_view, std::set<std::string_view>>& words_of_root) const {
    for (const Name* name : open) {
      if (words_of_root.at(name->root_text()).size() < 2) continue;
      const auto* other = *std::ranges::find_if(open, [&](const Name* candidate) {
        return candidate->root_text() == name->root_text() && candidate->stem_text() != name->stem_text();
      });
      refuse(*name, *other, "are they fields of one sample, or separate samples?");
    }
    std::terminate();  // unreachable: some root has two words
  }

  [[noreturn]] static void refuse(const Name& name, const Name& other, const std::string& question) {
    const auto [first, second] = std::minmax(name.path, other.path);
    throw Error::invalid_argument(
        double_quoted(first) + " and " + double_quoted(second) + " can be read in two ways: " + question +
        " Open with key=\"first_dot\" (fields) or key=\"last_dot\" (samples); the command: --source-key");
  }

  KeyEnds ends() const {
    KeyEnds ends;
    for (const Name& name : names_) {
      std::size_t length = name.field ? name.root : name.stem;
      if (!name.field && name.host) length = key_of_host(name);
      if (name.has_words() && ends.rule.empty()) ends.rule = "first_dot";
      if (length > name.root) ends.rule = "last_dot";
      ends.lengths.push_back(static_cast<std::uint32_t>(length));
    }
    return ends;
  }

  // shoot.RED.seg.png has the key of shoot.RED.jpg, wherever that key ends.
  std::size_t key_of_host(const Name& name) const {
    const Name& host = names_[*name.host];
    if (host.field) return host.root;
    return host.host ? key_of_host(host) : host.stem;
  }

  std::vector<Name> names_;
  std::unordered_map<std::string_view, std::vector<std::size_t>> files_of_;  // by stem
  std::unordered_set<std::string_view> media_roots_;
  std::optional<bool> class_folders_, one_extension_;
};

}  // namespace

KeyEnds key_ends(const std::vector<std::string_view>& paths, std::string_view option) {
  Decision decision(paths);
  return option.empty() ? decision.by_evidence() : decision.by_option(option == "last_dot");
}

}  // namespace penstock
