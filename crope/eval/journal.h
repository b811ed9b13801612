// The answers of an evaluation so far, on disk: a killed evaluation continues from them.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "crope/base/file.h"
#include "crope/eval/metrics.h"

namespace crope::eval {

// The key of an item: a digest of the model and the item's tokens. The same key means the same response,
// whatever the task, the limit or the order was.
using ItemKey = std::string;

// A file of JSON lines, appended to. Lines that cannot be read, such as one cut off by a kill, count as absent.
class Journal {
 public:
  // Reads what is there. Throws Error if the file cannot be read or written.
  explicit Journal(const std::filesystem::path& path);

  // The stored response to `key`, if there is one.
  std::optional<Response> find(const ItemKey& key) const;

  // Survives a kill of this process once it returns.
  void add(const ItemKey& key, const Response& response);

 private:
  std::map<ItemKey, Response> found_;
  AppendFile file_;
};

// A digest of all weights, fast: 64 bits in hexadecimal digits, of each file that the model consists of.
std::string model_fingerprint(const std::filesystem::path& model_dir);

}  // namespace crope::eval
