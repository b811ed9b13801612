#include "crope/model/text_rows.h"

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/model/init.h"
#include "tests/temporary_folder.h"
#include "tests/tensor_checks.h"
#include "tests/text/fixtures.h"

namespace crope::model {
namespace {

using torch::Tensor;

LanguageModel byte_reader(std::int64_t window) {
  LanguageModel model;
  model.tokenizer.emplace(text::make_vocabulary({}));
  model.model.config = {.vocab_size = 257, .num_layers = 1, .num_heads = 2, .d_model = 8, .d_ff = 8};
  model.model.config.max_seq_len = window;
  return model;
}

std::vector<std::int64_t> ids_of(const std::vector<Tensor>& rows) {
  std::vector<std::int64_t> ids;
  for (const Tensor& row : rows)
    ids.insert(ids.end(), row.const_data_ptr<int64_t>(), row.const_data_ptr<int64_t>() + row.numel());
  return ids;
}

TEST(TextRows, CutTheTextAndBeginEachRow) {
  const test::TemporaryFolder folder;
  write_file(folder / "text", "abcdefghij");
  LanguageModel model = byte_reader(4);
  const std::vector<std::int32_t> expected = model.tokenizer->encode("abcdefghij");
  std::vector<Tensor> rows = text_rows(model, folder / "text");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(ids_of(rows), std::vector<std::int64_t>(expected.begin(), expected.end()));

  model.begin_token = 0;
  rows = text_rows(model, folder / "text", {.tokens = 7});
  ASSERT_EQ(rows.size(), 3u);
  for (const Tensor& row : rows) EXPECT_EQ(row[0][0].item<int64_t>(), 0);
  EXPECT_EQ(ids_of(rows).size(), 7u + 3);
  EXPECT_EQ(rows.back().size(1), 2) << "the begin token and one of the text";

  model.begin_token.reset();
  EXPECT_EQ(text_rows(model, folder / "text", {.tokens = 9}).size(), 2u) << "one token predicts nothing";
}

// The reading stops within a character of two bytes.
TEST(TextRows, ALongFileIsReadToItsLimit) {
  const test::TemporaryFolder folder;
  std::string text = "x";
  for (int i = 0; i < 200; ++i) text += "é";
  write_file(folder / "text", text);
  EXPECT_EQ(ids_of(text_rows(byte_reader(600), folder / "text", {.tokens = 2})).size(), 2u);
}

TEST(TextRows, RefusesWhatIsNoText) {
  const test::TemporaryFolder folder;
  const LanguageModel model = byte_reader(4);
  write_file(folder / "empty", "");
  write_file(folder / "binary", std::string("ab\xFF\xFE plain text that is long enough", 36));
  EXPECT_THROW(text_rows(model, folder / "empty"), UsageError);
  EXPECT_THROW(text_rows(model, folder / "binary"), UsageError);
  EXPECT_THROW(text_rows(model, folder / "absent"), Error);
  LanguageModel mute = byte_reader(4);
  mute.tokenizer.reset();
  EXPECT_THROW(text_rows(mute, folder / "binary"), UsageError);
}

}  // namespace
}  // namespace crope::model
