#include "crope/model/text_rows.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/utf8.h"

namespace crope::model {
namespace {

constexpr std::int64_t kUsualRow = 512;
constexpr std::int64_t kLongestToken = 64;  // bytes of text read for each token wanted

// The first bytes of a file, without a character that the cut would break.
std::string beginning_of(const std::filesystem::path& file, std::size_t bytes) {
  const auto mapped = MappedFile::open(file);
  const auto* text = reinterpret_cast<const char*>(mapped->bytes().data());
  std::string_view head(text, std::min(bytes, mapped->bytes().size()));
  const std::size_t whole = valid_utf8_prefix(head);
  const bool is_broken_by_the_cut = head.size() < mapped->bytes().size() && head.size() - whole < 4;
  if (is_broken_by_the_cut) head = head.substr(0, whole);
  return std::string(head);
}

}  // namespace

std::vector<torch::Tensor> text_rows(const LanguageModel& model, const std::filesystem::path& file,
                                     const TextRowOptions& options) {
  const std::int64_t width = options.row_tokens > 0 ? options.row_tokens : std::min(kUsualRow, model.window());
  const std::string text = beginning_of(file, static_cast<std::size_t>(options.tokens * kLongestToken));
  const std::vector<std::int32_t> ids = model.encode(text, file.string());
  const std::int64_t count = std::min<std::int64_t>(std::ssize(ids), options.tokens);
  const std::int64_t begins = model.begin_token ? 1 : 0;
  std::vector<torch::Tensor> rows;
  for (std::int64_t first = 0; first < count;) {
    std::vector<std::int64_t> row;
    if (begins > 0) row.push_back(*model.begin_token);
    const std::int64_t end = std::min(count, first + std::max<std::int64_t>(1, width - begins));
    row.insert(row.end(), ids.begin() + first, ids.begin() + end);
    if (row.size() > 1) rows.push_back(torch::Tensor(at::tensor(row, torch::kInt64).unsqueeze(0)));
    first = end;
  }
  if (rows.empty()) {
    throw UsageError(fmt::format("{}: expected a text of at least two tokens, found {}", file.string(), ids.size()),
                     "give a longer text file");
  }
  return rows;
}

}  // namespace crope::model
