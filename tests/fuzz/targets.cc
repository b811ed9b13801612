#include "tests/fuzz/targets.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/utf8.h"
#include "crope/data/data_dir.h"
#include "crope/eval/journal.h"
#include "crope/formats/gguf.h"
#include "crope/formats/gguf_writer.h"
#include "crope/formats/json_line.h"
#include "crope/formats/jsonl.h"
#include "crope/formats/safetensors.h"
#include "crope/formats/token_shard.h"
#include "crope/infer/chat_template.h"
#include "crope/interop/hf_config.h"
#include "crope/interop/hf_index.h"
#include "crope/model/config.h"
#include "crope/model/parameters.h"
#include "crope/run/metrics.h"
#include "crope/serve/openai_request.h"
#include "crope/text/tokenizer.h"
#include "crope/text/tokenizer_json.h"
#include "crope/train/train_progress.h"
#include "tests/temporary_folder.h"
#include "tests/text/fixtures.h"

namespace crope::test {
namespace {

namespace fs = std::filesystem;

// Ends the process, so that libFuzzer keeps the input.
void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

// The bytes as a file in memory whose name ends in `ending`.
class InputFile {
 public:
  InputFile(std::string_view bytes, const std::string& ending = "") {
    static const TemporaryFolder folder;
    path_ = folder / ("input" + ending);
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~InputFile() { fs::remove(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// What a writer of files leaves.
template <typename Write>
std::string written(const Write& write) {
  const TemporaryFolder folder;
  write(folder / "seed");
  return read_file(folder / "seed");
}

std::uint64_t sum_of(std::span<const std::byte> bytes) {
  std::uint64_t sum = 0;
  for (const std::byte each : bytes) sum += static_cast<std::uint64_t>(each);
  return sum;
}

// The first byte chooses, the rest is the input.
int choice_of(std::string_view& bytes, int count) {
  if (bytes.empty()) throw Error("no input");
  const int choice = static_cast<unsigned char>(bytes.front()) % count;
  bytes.remove_prefix(1);
  return choice;
}

void read_safetensors(std::string_view bytes) {
  const InputFile input(bytes);
  const auto file = formats::SafetensorsFile::open(input.path());
  std::uint64_t sum = 0;
  for (const formats::StoredTensor& each : file.tensors()) {
    must(file.find(each.name) == &each, "a tensor is found by its name");
    sum += sum_of(each.bytes);
  }
  must(sum <= bytes.size() * 255, "tensors do not overlap");
}

std::vector<std::string> safetensors_seeds() {
  const auto tensor = [](const char* name, formats::ElementType type, std::vector<std::int64_t> shape) {
    std::size_t size = formats::element_size(type);
    for (const std::int64_t extent : shape) size *= static_cast<std::size_t>(extent);
    return formats::TensorSource{name, type, std::move(shape), [size](const formats::TensorSource::Sink& sink) {
                                   const std::string filling(size, 'x');
                                   sink(std::as_bytes(std::span(filling)));
                                 }};
  };
  return {written([&](const fs::path& path) {
    formats::write_safetensors(
        path,
        {tensor("a.weight", formats::ElementType::f32, {2, 3}), tensor("b.weight", formats::ElementType::bf16, {5}),
         tensor("c", formats::ElementType::boolean, {1, 1, 3})},
        {{"note", "one"}});
  })};
}

void read_gguf(std::string_view bytes) {
  const InputFile input(bytes);
  const auto file = formats::GgufFile::open(input.path());
  for (const auto& [key, value] : file.metadata()) must(file.find_value(key) == &value, "a key is found");
  std::uint64_t sum = 0;
  for (const formats::GgufTensor& each : file.tensors()) sum += sum_of(each.bytes);
  must(sum <= bytes.size() * 255, "tensors do not overlap");
}

std::vector<std::string> gguf_seeds() {
  const auto zeros = [](std::size_t size) {
    return [size](const formats::GgufTensorSource::Sink& sink) {
      const std::string filling(size, '\0');
      sink(std::as_bytes(std::span(filling)));
    };
  };
  return {written([&](const fs::path& path) {
    formats::write_gguf(path,
                        {{"general.architecture", std::string("llama")},
                         {"llama.block_count", std::uint32_t{2}},
                         {"rope", 0.5f},
                         {"flag", true},
                         {"tokenizer.ggml.tokens", std::vector<std::string>{"a", "b"}},
                         {"scores", std::vector<float>{1, 2}}},
                        {{"token_embd.weight", formats::GgmlType::f32, {2, 3}, zeros(24)},
                         {"blk.0.q.weight", formats::GgmlType::q8_0, {2, 32}, zeros(68)},
                         {"blk.0.norm", formats::GgmlType::f16, {4}, zeros(8)}});
  })};
}

void read_shard(std::string_view bytes) {
  const bool is_numpy = choice_of(bytes, 2) == 1;
  const InputFile input(bytes, is_numpy ? ".npy" : ".bin");
  const auto shard = formats::TokenShard::open(input.path());
  std::vector<std::int32_t> tokens(shard.size());
  shard.read(0, tokens);
  for (const std::int32_t token : tokens) must(token >= 0, "a token is no negative number");
}

std::vector<std::string> shard_seeds() {
  std::vector<std::string> seeds;
  for (const auto width : {formats::TokenWidth::u16, formats::TokenWidth::u32}) {
    seeds.push_back(std::string(1, '\0') + written([&](const fs::path& path) {
                      formats::TokenShardWriter writer(path, width);
                      writer.append(std::array<std::int32_t, 5>{0, 1, 50256, 65535, 7});
                      writer.commit();
                    }));
  }
  std::string header = "{'descr': '<u2', 'fortran_order': False, 'shape': (6,), }";
  header.resize(117, ' ');
  seeds.push_back("\1\x93NUMPY\x01" + std::string("\0v\0", 3) + header + "\naabbccddeeff");
  return seeds;
}

void read_jsonl(std::string_view bytes) {
  const InputFile input(bytes, ".jsonl");
  formats::JsonlReader reader(formats::InputStream::open(input.path()), "text");
  while (const auto row = reader.next()) {
    must(valid_utf8_prefix(row->text) == row->text.size(), "a text is UTF-8");
    must(row->kind != formats::JsonlRow::Kind::bad || !row->problem.empty(), "a bad row has a message");
    if (row->kind == formats::JsonlRow::Kind::bad) throw Error(row->problem);
  }
}

std::vector<std::string> jsonl_seeds() {
  return {
      "{\"id\": 1, \"text\": \"plain words\"}\n"
      "{\"text\": \"\\u00e9\\ud83d\\ude00 \\\"quoted\\\" \\\\ \\n\", \"more\": [1, -2.5, true, {\"x\": null}]}\r\n"
      "\n"
      "{\"text\": null}\n{\"text\": \"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"}"};
}

// Our reader of one field, our parser and the library's own take the same lines; ours refuse equal keys and numbers
// past the range of a double differently.
void read_json_line(std::string_view line) {
  std::string text;
  const auto kind = formats::find_json_string(line, "text", text).kind;
  bool is_parsed = true;
  std::string problem;
  try {
    const Json json = parse_json(line, "line");
    must(parse_json(json.dump(), "again") == json, "what is written is read");
  } catch (const Error& e) {
    is_parsed = false;
    problem = e.what();
  }
  must(!is_parsed || kind != formats::JsonFieldKind::malformed, "a line that parses is not malformed");
  if (is_parsed) must(Json::accept(line), "a line that parses is JSON");
  if (!is_parsed) throw Error(problem);
}

// Whatever vocabulary is taken gives every text back whose bytes it has.
void read_tokenizer(std::string_view bytes) {
  const InputFile input(bytes, ".json");
  const text::Tokenizer tokenizer = text::Tokenizer::load(input.path());
  constexpr std::string_view kText = "Hello low lower 123 \xff<|endoftext|> \xc3\xa9\n\n";
  const auto ids = tokenizer.encode(kText);
  for (const char byte : std::string_view(kText)) {
    if (!tokenizer.find_token(std::string_view(&byte, 1))) return;  // a text loses bytes without a token
  }
  must(tokenizer.decode(ids) == kText, "a text comes back");
  must(tokenizer.decode(tokenizer.encode_with_special(kText)) == kText, "a text with special tokens comes back");
}

std::vector<std::string> tokenizer_seeds() {
  const TemporaryFolder folder;
  text::write_tokenizer_files(folder.path(), text::small_vocabulary());
  return {read_file(folder / "tokenizer.json")};
}

void read_config(std::string_view bytes) {
  const model::ModelConfig config = model::config_from_json(parse_json(bytes, "input"), "input");
  must(model::count_parameters(config).total() > 0, "a model has parameters");
  const Json again = model::config_to_json(config);
  must(model::config_to_json(model::config_from_json(again, "written")) == again, "a configuration comes back");
}

model::ModelConfig small_model() {
  return {.vocab_size = 512, .num_layers = 2, .num_heads = 2, .d_model = 32, .d_ff = 32};
}

std::vector<std::string> config_seeds() {
  return {model::config_to_json(small_model()).dump()};
}

void read_hf_config(std::string_view bytes) {
  const Json json = parse_json(bytes, "input");
  const model::ModelConfig found = interop::read_hf_config(json, "input");
  must(found.num_heads % found.kv_heads() == 0, "heads form groups");
  interop::generation_ids(json, "input");
}

std::vector<std::string> hf_config_seeds() {
  return {interop::hf_config_from(small_model(), "float32", {.end_of_text = 0}).dump()};
}

void read_hf_index(std::string_view bytes) {
  for (const auto& [name, file] : interop::parse_hf_index(bytes, "input")) {
    must(file.find('/') == std::string::npos && !file.empty() && file != "..", "a file is in the folder");
  }
}

std::vector<std::string> hf_index_seeds() {
  return {R"({"metadata": {"total_size": 12}, "weight_map": {"a.weight": "model-00001-of-00002.safetensors"}})"};
}

void read_train_state(std::string_view bytes) {
  const train::SavedState state = train::saved_state_from_json(parse_json(bytes, "input"), "input");
  const Json again = train::to_json(state);
  must(train::to_json(train::saved_state_from_json(again, "again")) == again, "a state comes back");
}

std::vector<std::string> train_state_seeds() {
  Json state = train::to_json(
      {.progress = {.step = 5, .tokens = 80, .elapsed_s = 1.5, .loader = {}, .best = train::BestValidation{4, 2.5}},
       .optimizer_steps = 5,
       .file_hashes = {{"config.json", "0123456789abcdef"}}});
  const std::string whole = state.dump();
  state.erase("state_hash");  // which no mutant would match
  return {whole, state.dump()};
}

void read_journal(std::string_view bytes) {
  const InputFile input(bytes);
  eval::Journal journal(input.path());
  for (const char* key : {"a", "b"}) {
    const auto found = journal.find(key);
    must(!found || found->log_likelihoods.size() == found->is_greedy.size(), "every score has its flag");
  }
  journal.add("c", {.log_likelihoods = {-1}, .is_greedy = {true}, .text = ""});
  must(eval::Journal(input.path()).find("c").has_value(), "what is added is found");
  if (!journal.find("a") && !journal.find("b")) throw Error("nothing is whole");
}

std::vector<std::string> journal_seeds() {
  return {written([](const fs::path& path) {
    eval::Journal journal(path);
    journal.add("a", {.log_likelihoods = {-1.25, -0.1}, .is_greedy = {true, false}, .text = ""});
    journal.add("b", {.log_likelihoods = {}, .is_greedy = {}, .text = " 3 \xc3\xa9\n"});
  })};
}

void read_metrics_line(std::string_view bytes) {
  const auto line = run::parse_metrics_line(bytes);
  if (!line) throw Error("not a line");
  line->other_losses();
  line->number("loss");
}

std::vector<std::string> metrics_seeds() {
  return {R"({"step":1,"tokens":64,"loss":2.5,"lr":0.001,"grad_norm":1e-3,"val_loss_wiki":3.25})",
          R"({"step":2,"loss":NaN,"grad_norm":-Infinity})"};
}

void read_request(std::string_view bytes) {
  static const text::Tokenizer tokenizer{text::small_vocabulary()};
  static const infer::ChatTemplate chat;
  const serve::RequestContext context{
      .vocab_size = tokenizer.vocab_size(), .window = 64, .tokenizer = &tokenizer, .begin_token = 0, .chat = &chat};
  const int kind = choice_of(bytes, 4);
  const Json body = serve::parse_body(bytes);
  const auto check = [&](const serve::CompletionRequest& request) {
    must(request.n >= 1 && request.max_tokens >= 0 && !request.prompts.empty(), "a request asks for something");
    for (const serve::Prompt& prompt : request.prompts) {
      must(prompt.ids.size() <= 65, "a prompt fits the window");
      for (const std::int32_t id : prompt.ids) must(id >= 0 && id < context.vocab_size, "an id is a token");
    }
  };
  if (kind == 0) check(serve::completion_request(body, context));
  if (kind == 1) check(serve::chat_request(body, context));
  if (kind == 2) serve::tokenize_request(body, context);
  if (kind == 3) must(tokenizer.decode(serve::detokenize_request(body, context)).size() < 1 << 26, "a text is bounded");
}

std::vector<std::string> request_seeds() {
  return {
      std::string(1, '\0') + R"({"prompt": ["the", "a"], "max_tokens": 4, "temperature": 0.5, "n": 2, "stop": ["\n"],
           "logprobs": 3, "echo": true, "seed": 1, "top_p": 0.9, "top_k": 5, "stream": true,
           "stream_options": {"include_usage": true}, "repetition_penalty": 1.1, "min_p": 0.1})",
      std::string(1, '\0') + R"({"prompt": [[1, 2, 3], [4]], "best_of": 1, "frequency_penalty": 0})",
      std::string(1, '\1') + R"({"messages": [{"role": "system", "content": "be"}, {"role": "user",
           "content": [{"type": "text", "text": "hell"}]}], "max_completion_tokens": 5, "logprobs": true, "top_logprobs": 2})",
      std::string(1, '\2') + R"({"prompt": "the<|endoftext|> a", "add_special_tokens": true})",
      std::string(1, '\3') + R"({"tokens": [1, 2, 3]})"};
}

constexpr FuzzTarget kTargets[] = {
    {"request", read_request, request_seeds},
    {"safetensors", read_safetensors, safetensors_seeds},
    {"gguf", read_gguf, gguf_seeds},
    {"shard", read_shard, shard_seeds},
    {"jsonl", read_jsonl, jsonl_seeds},
    {"json_line", read_json_line, jsonl_seeds},
    {"tokenizer", read_tokenizer, tokenizer_seeds},
    {"config", read_config, config_seeds},
    {"hf_config", read_hf_config, hf_config_seeds},
    {"hf_index", read_hf_index, hf_index_seeds},
    {"train_state", read_train_state, train_state_seeds},
    {"journal", read_journal, journal_seeds},
    {"metrics", read_metrics_line, metrics_seeds},
};

}  // namespace

std::span<const FuzzTarget> fuzz_targets() {
  return kTargets;
}

}  // namespace crope::test
