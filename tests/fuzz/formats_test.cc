// Readers of files below the Torch line on mutants of files that they take.
#include <arrow/builder.h>
#include <arrow/io/file.h>
#include <arrow/table.h>
#include <arrow/util/compression.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>

#include <array>

#include "crope/base/file.h"
#include "crope/base/utf8.h"
#include "crope/data/data_dir.h"
#include "crope/formats/json_line.h"
#include "crope/formats/jsonl.h"
#include "crope/formats/parquet.h"
#include "crope/formats/parquet_rows.h"
#include "crope/formats/safetensors.h"
#include "crope/formats/token_shard.h"
#include "tests/fuzz/mutation.h"

namespace crope {
namespace {

namespace fs = std::filesystem;
using formats::JsonFieldKind;
using formats::TokenWidth;

constexpr std::array<std::string_view, 10> kJsonWords = {"{", "}", "[", "]", ",", ":", "\"", "\\u", "\\ud800", "null"};

// What cannot be optimised away.
std::uint64_t sum_of(std::span<const std::byte> bytes) {
  std::uint64_t sum = 0;
  for (const std::byte each : bytes) sum += static_cast<std::uint64_t>(each);
  return sum;
}

TEST(Fuzz, Safetensors) {
  const test::TemporaryFolder folder;
  const auto tensor = [](const char* name, formats::ElementType type, std::vector<std::int64_t> shape) {
    std::size_t bytes = formats::element_size(type);
    for (const std::int64_t extent : shape) bytes *= static_cast<std::size_t>(extent);
    return formats::TensorSource{name, type, std::move(shape), [bytes](const formats::TensorSource::Sink& sink) {
                                   const std::string filling(bytes, 'x');
                                   sink(std::as_bytes(std::span(filling)));
                                 }};
  };
  formats::write_safetensors(
      folder / "seed",
      {tensor("a.weight", formats::ElementType::f32, {2, 3}), tensor("b.weight", formats::ElementType::bf16, {5}),
       tensor("c", formats::ElementType::boolean, {1, 1, 3})},
      {{"note", "one"}});
  constexpr std::array<std::string_view, 12> kWords = {
      "F32", "BF16", "BOOL", "I64", "dtype", "shape", "data_offsets", "__metadata__", "a.weight", "[", "]", ","};
  test::fuzz_file("model.safetensors", read_file(folder / "seed"), kWords, [](const fs::path& path) {
    const auto file = formats::SafetensorsFile::open(path);
    std::uint64_t sum = 0;
    for (const formats::StoredTensor& each : file.tensors()) {
      ASSERT_EQ(file.find(each.name), &each);
      sum += sum_of(each.bytes);
    }
    EXPECT_LE(sum, file.mapping()->bytes().size() * 255);
  });
}

void read_shard(const fs::path& path) {
  const auto shard = formats::TokenShard::open(path);
  std::vector<std::int32_t> tokens(shard.size());
  shard.read(0, tokens);
  for (const std::int32_t token : tokens) ASSERT_GE(token, 0);
}

std::string bin_shard(TokenWidth width) {
  const test::TemporaryFolder folder;
  formats::TokenShardWriter writer(folder / "seed", width);
  const std::array<std::int32_t, 5> tokens = {0, 1, 50256, 65535, 7};
  writer.append(tokens);
  writer.commit();
  return read_file(folder / "seed");
}

TEST(Fuzz, TokenShard) {
  test::fuzz_file("narrow.bin", bin_shard(TokenWidth::u16), {}, read_shard);
  test::fuzz_file("wide.bin", bin_shard(TokenWidth::u32), {}, read_shard);
  std::string header = "{'descr': '<u2', 'fortran_order': False, 'shape': (6,), }";
  header.resize(117, ' ');
  header += '\n';
  constexpr std::array<std::string_view, 8> kWords = {"'descr':", "'shape':", "'<u2'", "'<u4'", "(", ",)", ")", "'"};
  test::fuzz_file("tokens.npy", "\x93NUMPY\x01" + std::string("\0v\0", 3) + header + "aabbccddeeff", kWords,
                  read_shard);
}

constexpr const char* kLines =
    "{\"id\": 1, \"text\": \"plain words\"}\n"
    "{\"text\": \"\\u00e9\\ud83d\\ude00 \\\"quoted\\\" \\\\ \\n\", \"more\": [1, -2.5, true, {\"x\": null}]}\r\n"
    "\n"
    "{\"text\": null}\n{\"text\": \"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"}";

// A line that is not JSON is a row of its own kind; it need not end the reading.
void read_lines(const fs::path& path) {
  formats::JsonlReader reader(formats::InputStream::open(path), "text");
  bool is_bad = false;
  while (const auto row = reader.next()) {
    if (row->kind == formats::JsonlRow::Kind::text) {
      ASSERT_EQ(valid_utf8_prefix(row->text), row->text.size());
    }
    is_bad = is_bad || row->kind == formats::JsonlRow::Kind::bad;
  }
  if (is_bad) throw Error("a bad row");
}

std::string compressed(arrow::Compression::type type) {
  const auto codec = arrow::util::Codec::Create(type).ValueOrDie();
  const std::string text = kLines;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  const auto size = static_cast<std::int64_t>(text.size());
  std::string out(static_cast<std::size_t>(codec->MaxCompressedLen(size, bytes)), '\0');
  out.resize(static_cast<std::size_t>(
      codec->Compress(size, bytes, static_cast<std::int64_t>(out.size()), reinterpret_cast<std::uint8_t*>(out.data()))
          .ValueOrDie()));
  return out;
}

TEST(Fuzz, JsonLines) {
  test::fuzz_file("rows.jsonl", kLines, kJsonWords, read_lines);
  test::fuzz_file("rows.jsonl.gz", compressed(arrow::Compression::GZIP), {}, read_lines);
  test::fuzz_file("rows.jsonl.zst", compressed(arrow::Compression::ZSTD), {}, read_lines);
}

// Our reader of one field and nlohmann-json take the same lines; numbers past the range of a double are JSON to ours.
TEST(Fuzz, JsonLineAgreesWithAnIndependentReader) {
  constexpr const char* kLine =
      "{\"a\": [1, -20, 0.5, [], {}], \"text\": \"x\\u00e9\\ud83d\\ude00\\n caf\xc3\xa9\", "
      "\"b\": {\"t\": true}, \"n\": null}";
  test::fuzz_text("line", kLine, kJsonWords, [](const std::string& line) {
    std::string text;
    const bool is_ours = formats::find_json_string(line, "text", text).kind != JsonFieldKind::malformed;
    if (line.find("1e999") == std::string::npos) {
      EXPECT_EQ(is_ours, Json::accept(line)) << line;
    }
    if (!is_ours) throw Error("malformed");
  });
}

std::string parquet_file(arrow::Compression::type compression) {
  const test::TemporaryFolder folder;
  arrow::StringBuilder texts;
  arrow::Int64Builder numbers;
  for (int i = 0; i < 40; ++i) {
    EXPECT_TRUE((i % 7 == 3 ? texts.AppendNull() : texts.Append("row " + std::to_string(i * i))).ok());
    EXPECT_TRUE(numbers.Append(i).ok());
  }
  const auto schema = arrow::schema({arrow::field("id", arrow::int64()), arrow::field("text", arrow::utf8())});
  const auto table = arrow::Table::Make(schema, {numbers.Finish().ValueOrDie(), texts.Finish().ValueOrDie()});
  const auto file = arrow::io::FileOutputStream::Open((folder / "seed").string()).ValueOrDie();
  const auto properties = parquet::WriterProperties::Builder().compression(compression)->build();
  EXPECT_TRUE(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), file, 16, properties).ok());
  EXPECT_TRUE(file->Close().ok());
  return read_file(folder / "seed");
}

TEST(Fuzz, Parquet) {
  for (const auto compression : {arrow::Compression::UNCOMPRESSED, arrow::Compression::SNAPPY}) {
    const std::string seed = parquet_file(compression);
    test::fuzz_file("column.parquet", seed, {}, [](const fs::path& path) {
      auto column = formats::ParquetColumn::open(path, "text");
      std::size_t bytes = 0;
      while (const auto text = column.next()) bytes += sum_of(std::as_bytes(std::span(*text))) > 0 ? text->size() : 0;
      EXPECT_LE(column.nulls(), column.rows_read());
    });
    test::fuzz_file("rows.parquet", seed, {}, [](const fs::path& path) {
      formats::read_parquet_rows(path, [](const Json& row) { ASSERT_TRUE(row.is_object()); });
    });
  }
}

TEST(Fuzz, DatasetJson) {
  const std::string seed = data::to_json({.tokenizer_fingerprint = "0123456789abcdef",
                                          .vocab_size = 512,
                                          .end_of_text = 0,
                                          .train = {10, 1000, 4000, 2},
                                          .val = {1, 100, 400, 1}})
                               .dump();
  constexpr std::array<std::string_view, 8> kWords = {"\"train\"", "\"vocab_size\"", "uint16", "{", "}", ",", "-", "."};
  test::fuzz_text("dataset.json", seed, kWords, [](const std::string& text) {
    const data::DatasetInfo info = data::dataset_info_from_json(parse_json(text, "mutant"), "mutant");
    EXPECT_GT(info.vocab_size, info.end_of_text.value_or(0));
  });
}

}  // namespace
}  // namespace crope
