#include "crope/serve/api_key.h"

#include <fmt/format.h>

#include <algorithm>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/sha256.h"

namespace crope::serve {
namespace {

constexpr std::uint64_t kLongestKeyFile = 65536;
constexpr std::string_view kScheme = "bearer ";

bool has_scheme(std::string_view authorization) {
  return authorization.size() >= kScheme.size() &&
         std::equal(kScheme.begin(), kScheme.end(), authorization.begin(),
                    [](char expected, char got) { return expected == (got >= 'A' && got <= 'Z' ? got + 32 : got); });
}

}  // namespace

ApiKey::ApiKey(std::string_view key) : digest_(sha256_hex(key)) {
  if (key.empty()) throw UsageError("the API key is empty", "write a long random word into the file");
  for (const char c : key) {
    if (c > ' ' && c < 127) continue;
    throw UsageError("the API key has spaces or characters beyond ASCII", "no header can carry it");
  }
}

ApiKey ApiKey::read(const std::filesystem::path& path) {
  const std::string contents = read_file(path, kLongestKeyFile);
  std::string_view line = std::string_view(contents).substr(0, contents.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  try {
    return ApiKey(line);
  } catch (const UsageError& e) {
    throw UsageError(fmt::format("{}: {}", path.string(), e.what()), e.hint());
  }
}

bool ApiKey::admits(std::string_view authorization) const {
  const bool is_bearer = has_scheme(authorization);
  if (is_bearer) authorization.remove_prefix(kScheme.size());
  const std::string digest = sha256_hex(authorization);
  unsigned difference = is_bearer ? 0 : 1;
  for (std::size_t i = 0; i < digest_.size(); ++i) difference |= static_cast<unsigned>(digest_[i] ^ digest[i]);
  return difference == 0;
}

}  // namespace crope::serve
