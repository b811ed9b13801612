#include "crope/eval/hellaswag.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "tests/eval/load_task.h"
#include "tests/temporary_folder.h"

namespace crope::eval {
namespace {

constexpr const char* kHellaswagRow =
    R"({"ind": 4, "activity_label": "Baking", "ctx_a": "[header] How to bake [title] Mix.", "ctx_b": "then THE cook", )"
    R"("endings": ["eats [step] it.", "  sleeps.  ", "sings", "runs"], "label": "1"})";

// What lm_eval's preprocess gives.
TEST(HellaSwag, CleansTextsAsLmEvalDoes) {
  const std::pair<const char*, const char*> cases[] = {
      {"  A [header] man  [title] Do it. [step] now ", "A man . Do it. now"},
      {"a [b [c] d] e", "a d] e"},
      {"x [open\ny] z [k]", "x [open\ny] z "},
      {"a    b", "a  b"},
      {"[title] T", " T"},
      {"two [substeps]", "two "},
      {" \u00a0x [title]y\u3000", "x. y"},
      {"no [ end", "no [ end"},
      {"[]][", "]["},
      {"a [x] [y] b", "a  b"},
      {"", ""},
  };
  for (const auto& [text, cleaned] : cases) EXPECT_EQ(clean_hellaswag(text), cleaned) << text;
}

TEST(HellaSwag, MakesPromptsOfRows) {
  const test::TemporaryFolder folder;
  write_file(folder / "hellaswag_val.jsonl", std::string(kHellaswagRow) + "\n\n" + kHellaswagRow + "\n");
  const Task task = load_task("hellaswag", folder.path(), {.limit = 1});
  EXPECT_EQ(task.document_count, 2);
  ASSERT_EQ(task.items.size(), 1u);
  const Item& item = task.items[0];
  EXPECT_EQ(item.context, "Baking: How to bake. Mix. Then the cook");
  EXPECT_EQ(item.choices, (std::vector<std::string>{"eats it.", "sleeps.", "sings", "runs"}));
  EXPECT_EQ(item.gold, 1);
  EXPECT_EQ(item.doc["gold"], 1);
  EXPECT_EQ(item.doc["query"], item.context);
}

TEST(HellaSwag, FewShotExamplesShowTheRightEnding) {
  const test::TemporaryFolder folder;
  write_file(folder / "hellaswag_val.jsonl", kHellaswagRow);
  EXPECT_THROW(load_task("hellaswag", folder.path(), {.num_fewshot = 1}), Error);  // there is no file of examples
  write_file(folder / "hellaswag_train.jsonl",
             R"({"activity_label": "A", "ctx_a": "b", "ctx_b": "", "endings": ["x", "y"], "label": 0})"
             "\n"
             R"({"activity_label": "A", "ctx_a": "b", "ctx_b": "", "endings": ["x", "y"], "label": 0})");
  const Task task = load_task("hellaswag", folder.path(), {.num_fewshot = 1});
  EXPECT_EQ(task.items[0].context, "A: b x\n\nBaking: How to bake. Mix. Then the cook");
}

TEST(HellaSwag, BadRowsNameFileLineAndField) {
  const test::TemporaryFolder folder;
  const std::pair<const char*, const char*> cases[] = {
      {R"({"ctx_a": "x"})", "ctx_b"},
      {R"({"activity_label": "A", "ctx_a": "x", "ctx_b": "", "endings": ["a", 1], "label": 0})", "endings"},
      {R"({"activity_label": "A", "ctx_a": "x", "ctx_b": "", "endings": ["a", "b"], "label": 2})", "label"},
      {R"({"activity_label": "A", "ctx_a": "x", "ctx_b": "", "endings": ["a", "b"], "label": "x"})", "label"},
      {R"({"activity_label": 5, "ctx_a": "x", "ctx_b": "", "endings": ["a"], "label": 0})", "activity_label"},
      {"[1]", "object"},
      {"{\"ctx_a\": \"\xff\"}", "JSON"},
      {"{", "JSON"},
  };
  for (const auto& [row, named] : cases) {
    write_file(folder / "hellaswag_val.jsonl", std::string(kHellaswagRow) + "\n" + row);
    try {
      load_task("hellaswag", folder.path());
      ADD_FAILURE() << "accepted " << row;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("hellaswag_val.jsonl:2"), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find(named), std::string::npos) << e.what();
    }
  }
  write_file(folder / "hellaswag_val.jsonl", "\n");
  EXPECT_THROW(load_task("hellaswag", folder.path()), Error);
  EXPECT_THROW(load_task("hellaswag", folder / "absent"), Error);
}

}  // namespace
}  // namespace crope::eval
