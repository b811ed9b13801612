#include "crope/interop/gguf_model.h"

#include "crope/base/error.h"
#include "crope/formats/gguf_writer.h"
#include "crope/interop/gguf_export.h"
#include "tests/temporary_folder.h"
#include "tests/tensor_checks.h"

namespace crope::interop {
namespace {

namespace fs = std::filesystem;
using formats::GgufFile;
using formats::GgufTensorSource;

// A good file, read into what the writer takes, so that one thing can be changed.
class GgufModelTest : public testing::Test {
 protected:
  GgufModelTest() {
    Log log(nullptr);
    export_gguf(fs::path(CROPE_SOURCE_DIR) / "tests/data/goldens/rope", folder_ / "good.gguf", formats::GgmlType::f32,
                log);
    const GgufFile file = GgufFile::open(folder_ / "good.gguf");
    keys_ = file.metadata();
    for (const formats::GgufTensor& tensor : file.tensors()) {
      sources_.push_back({tensor.name, tensor.type, tensor.shape,
                          [bytes = tensor.bytes, mapping = file.mapping()](const auto& sink) { sink(bytes); }});
    }
  }

  // What is said about the file that is in keys_ and sources_ now.
  std::string load_error() {
    formats::write_gguf(folder_ / "x.gguf", keys_, sources_);
    try {
      load_gguf_model(folder_ / "x.gguf");
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }

  void set(const std::string& key, formats::GgufValue value) {
    for (auto& [name, old] : keys_) {
      if (name == key) old = std::move(value);
    }
  }

  test::TemporaryFolder folder_;
  formats::GgufMetadata keys_;
  std::vector<GgufTensorSource> sources_;
};

TEST_F(GgufModelTest, ReadsBackWhatWasWritten) {
  EXPECT_EQ(load_error(), "");
}

TEST_F(GgufModelTest, OtherArchitecturesAndShapesAreNamed) {
  const formats::GgufMetadata good = keys_;
  const std::pair<const char*, formats::GgufValue> changes[] = {
      {"general.architecture", std::string("gpt2")},      {"qwen3.block_count", std::string("2")},
      {"qwen3.embedding_length", std::uint32_t{0}},       {"qwen3.block_count", std::uint32_t{0xFFFFFFFF}},
      {"qwen3.attention.value_length", std::uint32_t{2}}, {"qwen3.attention.head_count_kv", std::uint32_t{1}},
      {"qwen3.feed_forward_length", std::uint32_t{2}},    {"qwen3.rope.freq_base", std::nanf("")},
  };
  for (const auto& [key, value] : changes) {
    keys_ = good;
    set(key, value);
    EXPECT_NE(load_error(), "") << key;
  }
}

TEST_F(GgufModelTest, MissingAndLeftOverTensorsAreNamed) {
  const GgufTensorSource last = sources_.back();
  sources_.pop_back();
  EXPECT_NE(load_error().find("there is no tensor '" + last.name), std::string::npos);
  sources_.push_back(last);
  sources_.push_back({"extra", formats::GgmlType::f32, {1}, [](const auto& sink) {
                        const float zero = 0;
                        sink(std::as_bytes(std::span(&zero, 1)));
                      }});
  EXPECT_NE(load_error().find("'extra' has no place"), std::string::npos);
}

}  // namespace
}  // namespace crope::interop
