#include "crope/base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "crope/base/error.h"
#include "crope/base/file.h"

template class nlohmann::basic_json<nlohmann::ordered_map>;
template class nlohmann::basic_json<>;

namespace crope {
namespace {

// A document as the parser's events come, in place of the library's own builder, which looks at all keys of an ordered
// object for each new one.
template <typename Value>
class DocumentBuilder {
 public:
  using Take = std::function<void(std::string, const Value&)>;

  DocumentBuilder(std::string_view origin, const JsonLimits& limits) : origin_(origin), limits_(limits) {}

  // Members of the object at `path` go to `take`.
  void hand_out(const std::vector<std::string>* path, const Take* take) {
    path_ = path;
    take_ = take;
  }

  Value result() { return std::move(root_); }

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(typename Value::number_integer_t value) { return add(value); }
  bool number_unsigned(typename Value::number_unsigned_t value) { return add(value); }
  bool number_float(typename Value::number_float_t value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(typename Value::binary_t& value) { return add(std::move(value)); }
  bool start_object(std::size_t) { return open(Value::object()); }
  bool start_array(std::size_t) { return open(Value::array()); }

  bool key(std::string& key) {
    Frame& object = open_.back();
    if (is_handing_out()) {
      handed_key_ = std::move(key);
      return true;
    }
    if (object.members.size() == limits_.keys) refuse(fmt::format("an object of more than {} keys", limits_.keys));
    const std::size_t level = open_.size() - 1;
    if (path_ != nullptr && level < path_->size()) {
      on_path_ = std::min(on_path_, level);
      if (on_path_ == level && key == (*path_)[level]) ++on_path_;
    }
    object.members.emplace_back(std::move(key), nullptr);
    return true;
  }

  bool end_object() {
    Frame frame = std::move(open_.back());
    open_.pop_back();
    auto& object = frame.value.template get_ref<typename Value::object_t&>();
    if constexpr (std::is_same_v<Value, Json>) {
      refuse_equal_keys(frame.members);
      object.reserve(frame.members.size());
      for (auto& [key, value] : frame.members) object.emplace_back(std::move(key), std::move(value));
    } else {
      for (auto& [key, value] : frame.members) {
        const auto [place, is_new] = object.emplace(std::move(key), std::move(value));
        if (!is_new) refuse_second(place->first);
      }
    }
    return place(std::move(frame.value));
  }

  bool end_array() {
    Value array = std::move(open_.back().value);
    open_.pop_back();
    return place(std::move(array));
  }

  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& e) {
    const auto* syntax = dynamic_cast<const typename Value::parse_error*>(&e);
    if (syntax == nullptr) throw Error(fmt::format("{}: not valid JSON: {}", origin_, e.what()));
    fail_at(syntax->byte);
  }

  [[noreturn]] void fail_at(std::size_t byte) const {
    throw Error(fmt::format("{}: not valid JSON at byte {}", origin_, byte), "the text is damaged or was cut off");
  }

 private:
  // The library's ordered objects copy their members as they grow: they are collected here and moved over at the end.
  using Members = std::vector<std::pair<std::string, Value>>;
  struct Frame {
    Value value;      // an empty object, or an array so far
    Members members;  // of the object
  };

  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(fmt::format("{}: JSON with {}", origin_, what),
                "the file is damaged, of another kind, or meant to do harm");
  }

  [[noreturn]] void refuse_second(std::string_view key) const {
    throw Error(fmt::format("{}: the key '{}' appears twice in one object", origin_, key));
  }

  void refuse_equal_keys(const Members& members) {
    keys_.clear();
    for (const auto& [key, value] : members) keys_.push_back(key);
    std::ranges::sort(keys_);
    const auto twice = std::ranges::adjacent_find(keys_);
    if (twice != keys_.end()) refuse_second(*twice);
  }

  bool is_handing_out() const {
    return path_ != nullptr && open_.size() == path_->size() + 1 && on_path_ == path_->size() &&
           open_.back().value.is_object();
  }

  void count() {
    if (values_++ == limits_.values) refuse(fmt::format("more than {} values", limits_.values));
  }

  bool place(Value value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().value.is_array()) {
      open_.back().value.template get_ref<typename Value::array_t&>().push_back(std::move(value));
    } else {
      open_.back().members.back().second = std::move(value);
    }
    return true;
  }

  bool add(Value value) {
    count();
    if (!is_handing_out()) return place(std::move(value));
    (*take_)(std::move(handed_key_), value);
    return true;
  }

  bool open(Value empty) {
    count();
    if (open_.size() == kDeepestJson) {
      throw Error(fmt::format("{}: JSON nested deeper than {} levels", origin_, kDeepestJson));
    }
    if (is_handing_out()) {
      (*take_)(handed_key_, empty);
      refuse(fmt::format("'{}', which is no plain value", handed_key_));
    }
    open_.push_back({std::move(empty), {}});
    return true;
  }

  const std::string_view origin_;
  const JsonLimits limits_;
  Value root_;
  std::vector<Frame> open_;  // arrays and objects that have begun and not ended, the innermost last
  std::size_t values_ = 0;
  std::vector<std::string_view> keys_;
  const std::vector<std::string>* path_ = nullptr;
  const Take* take_ = nullptr;
  std::size_t on_path_ = 0;  // how many of the path's keys the open objects are in
  std::string handed_key_;
};

template <typename Value>
Value parse(std::string_view text, DocumentBuilder<Value> builder) {
  // The library takes a NUL byte for the end of the text, and would ignore what follows.
  const std::size_t nul = text.find('\0');
  if (nul != std::string_view::npos) builder.fail_at(nul + 1);
  Value::sax_parse(text, &builder);
  return builder.result();
}

}  // namespace

Json parse_json(std::string_view text, std::string_view origin, const JsonLimits& limits) {
  return parse(text, DocumentBuilder<Json>(origin, limits));
}

SortedJson parse_sorted_json(std::string_view text, std::string_view origin, const JsonLimits& limits) {
  return parse(text, DocumentBuilder<SortedJson>(origin, limits));
}

Json parse_json_members(std::string_view text, std::string_view origin, const std::vector<std::string>& path,
                        const std::function<void(std::string, const Json&)>& take) {
  DocumentBuilder<Json> builder(origin, {.values = kSortedJsonLimits.values});
  builder.hand_out(&path, &take);
  return parse(text, std::move(builder));
}

Json read_json(const std::filesystem::path& path, std::uint64_t limit) {
  return parse_json(read_file(path, limit), path.string());
}

void write_json(const std::filesystem::path& path, const Json& json) {
  write_file(path, json.dump(2) + "\n");
}

}  // namespace crope
