// crope serve: a model behind OpenAI's API, and a page to look inside it.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <thread>

#include "cli/command.h"
#include "cli/generation_flags.h"
#include "crope/base/error.h"
#include "crope/base/interrupt.h"
#include "crope/base/log.h"
#include "crope/base/memory.h"
#include "crope/base/utf8.h"
#include "crope/model/cost.h"
#include "crope/run/run_dir.h"
#include "crope/serve/context_limit.h"
#include "crope/serve/http_server.h"

namespace crope::cli {
namespace {

constexpr std::size_t kOtherDescriptors = 64;  // of files and threads
constexpr std::int64_t kMostKeptWindows = 32;  // more beginnings take longer to look through than they save

struct ServeFlags {
  GenerationFlags generation;
  std::string host = "127.0.0.1";
  std::int64_t port = 8080;
  std::vector<std::string> allowed_hosts;
  std::vector<std::string> allowed_origins;
  std::string api_key_file;
  std::string name;  // empty: the folder's
  bool log_requests = false;
  std::int64_t context = 0;
  std::int64_t max_sequences = 24;
  std::int64_t max_waiting = 512;
  std::int64_t max_connections = 4096;
  std::int64_t prefill_tokens = 256;
  std::int64_t cache_mb = 512;
  std::int64_t max_body_kb = 8192;
  std::int64_t request_seconds = 600;
  std::int64_t drain_seconds = 30;
};

std::int64_t in_range(const char* flag, std::int64_t value, std::int64_t lowest, std::int64_t highest) {
  if (value >= lowest && value <= highest) return value;
  throw UsageError(fmt::format("{}: expected a number from {} to {}, got {}", flag, lowest, highest, value));
}

// Every connection takes a descriptor; the usual limit of 1,024 is for programs that use select().
std::size_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  limit.rlim_cur = limit.rlim_max == RLIM_INFINITY ? 65536 : limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<std::size_t>(limit.rlim_cur);
}

// Nothing if the model's own is of no known family: everything but conversations is served then.
std::optional<infer::ChatTemplate> served_chat_template(const ServeFlags& flags, const model::LanguageModel& model,
                                                        Log& log) {
  try {
    return chat_template_of(flags.generation, model);
  } catch (const UsageError& e) {
    if (!flags.generation.chat_template.empty()) throw;
    log.warn(fmt::format("{}: chat completions are refused; {}", e.what(), e.hint()));
    return std::nullopt;
  }
}

serve::InferenceOptions inference_options(const ServeFlags& flags, const model::ModelConfig& config) {
  const double cache_bytes = static_cast<double>(in_range("--cache-mb", flags.cache_mb, 0, 1 << 24)) * (1 << 20);
  const auto kept_tokens =
      static_cast<std::int64_t>(cache_bytes / model::cost_per_token(config, config.max_seq_len).cache_bytes);
  infer::EngineOptions engine = engine_options(flags.generation);
  engine.prefill_tokens = in_range("--prefill-tokens", flags.prefill_tokens, 1, 1 << 20);
  engine.kept_tokens = std::min(kept_tokens, kMostKeptWindows * config.max_seq_len);
  return {.engine = engine,
          .max_sequences = in_range("--max-sequences", flags.max_sequences, 1, 4096),
          .max_waiting = in_range("--max-waiting", flags.max_waiting, 1, 1 << 20)};
}

// The name of the model's folder, or of the run that a checkpoint belongs to.
std::string own_name(const std::string& dir) {
  std::filesystem::path path = std::filesystem::absolute(dir).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  if (path.parent_path().filename() == run::kCheckpoints) path = path.parent_path().parent_path();
  const std::string name = path.filename().string();
  return name.empty() || valid_utf8_prefix(name) < name.size() ? "crope" : name;
}

serve::ApiOptions api_options(const ServeFlags& flags, const model::LanguageModel& model,
                              const serve::InferenceOptions& inference, Log& log) {
  serve::ApiOptions options{
      .name = flags.name.empty() ? own_name(flags.generation.dir) : flags.name,
      .key = std::nullopt,
      .inference = inference,
      .request_time = std::chrono::seconds(in_range("--request-seconds", flags.request_seconds, 1, 1 << 20)),
      .max_choices = std::min<std::int64_t>(256, flags.max_waiting),
      .chat = served_chat_template(flags, model, log)};
  if (!flags.api_key_file.empty()) options.key = serve::ApiKey::read(flags.api_key_file);
  return options;
}

serve::HttpOptions http_options(const ServeFlags& flags) {
  const std::size_t descriptors = raise_descriptor_limit();
  const std::size_t wanted = static_cast<std::size_t>(in_range("--max-connections", flags.max_connections, 1, 1 << 20));
  serve::HttpLimits limits;
  limits.max_connections = std::min(wanted, descriptors - std::min(descriptors - 1, kOtherDescriptors));
  limits.message.body_bytes = static_cast<std::size_t>(in_range("--max-body-kb", flags.max_body_kb, 1, 1 << 20)) << 10;
  limits.buffered_bytes = std::max(limits.buffered_bytes, 2 * limits.message.body_bytes);
  return {.host = flags.host,
          .port = static_cast<int>(in_range("--port", flags.port, 0, 65535)),
          .limits = limits,
          .access = {.hosts = flags.allowed_hosts, .origins = flags.allowed_origins}};
}

// Shortens the model's window to the context that is served, and what is kept of ended sequences with it. Memory is
// checked with the weights in it.
void shorten_context(model::ModelConfig& config, serve::InferenceOptions& options, const ServeFlags& flags, Log& log) {
  const serve::ContextNeeds needs{.sequences = options.max_sequences,
                                  .kept_tokens = options.engine.kept_tokens,
                                  .free_bytes = static_cast<double>(free_memory())};
  const std::int64_t window = config.max_seq_len, fitting = serve::context_that_fits(config, needs);
  config.max_seq_len = flags.context == 0 ? fitting : in_range("--context", flags.context, 1, window);
  const std::string memory =
      fmt::format("{} sequences, {} of memory free", needs.sequences, format_bytes(needs.free_bytes));
  log.info(fmt::format("context: {} of the model's {} tokens ({})", config.max_seq_len, window, memory));
  if (config.max_seq_len > fitting) {
    log.warn(
        fmt::format("a context of {} tokens is sure to fit for all; a sequence that finds no memory ends with an "
                    "error",
                    fitting));
  }
  options.engine.kept_tokens = std::min(options.engine.kept_tokens, kMostKeptWindows * config.max_seq_len);
}

struct Served {
  model::LanguageModel model;
  serve::Api api;

  Served(model::LanguageModel loaded, const serve::InferenceOptions& inference, const ServeFlags& flags, Log& log)
      : model(std::move(loaded)), api(model, api_options(flags, model, inference, log)) {}
};

// In a thread that ends: OpenMP holds workers ready for every thread that has used them, and as soon as there are more
// of them than processors, all sleep between two pieces of work instead of waiting actively.
std::unique_ptr<Served> load(const ServeFlags& flags, Log& log) {
  return std::async(std::launch::async,
                    [&] {
                      model::LanguageModel model = load_model(flags.generation, log);
                      serve::InferenceOptions inference = inference_options(flags, model.model.config);
                      shorten_context(model.model.config, inference, flags, log);
                      return std::make_unique<Served>(std::move(model), inference, flags, log);
                    })
      .get();
}

void run(const ServeFlags& flags) {
  Log log(stderr);
  in_range("--drain-seconds", flags.drain_seconds, 0, 1 << 20);
  serve::HttpOptions http = http_options(flags);
  if (flags.log_requests) {
    http.on_answered = [&log](const serve::AnsweredRequest& request) { log.info(serve::log_line(request)); };
  }
  const std::unique_ptr<Served> served = load(flags, log);
  const InterruptScope interrupts;
  serve::HttpServer server(served->api, http);
  const bool is_any = flags.host == "0.0.0.0" || flags.host == "::";
  log.info(fmt::format("serving {} at http://{}:{}/ (Ctrl-C ends)", flags.generation.dir,
                       is_any ? "127.0.0.1" : flags.host, server.port()));
  if (flags.api_key_file.empty() && flags.host != "127.0.0.1" && flags.host != "localhost" && flags.host != "::1") {
    log.warn("anyone who reaches this address is served; --api-key-file makes the server require a key");
  }
  while (!interrupt_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  log.info("stopping: no new requests are accepted; running ones are finished");
  if (!server.drain(std::chrono::seconds(flags.drain_seconds))) {
    log.warn(fmt::format("some requests were not finished after {} seconds", flags.drain_seconds));
  }
}

void declare_serve(Flags& flags) {
  const auto values = std::make_shared<ServeFlags>();
  flags.positional("dir", values->generation.dir, "A model or run directory");
  flags.option("--port", values->port, "Port to listen on (0: any free one)");
  flags.option("--host", values->host, "Address to listen on (0.0.0.0: every address of this machine)");
  flags.option("--allow-host", values->allowed_hosts,
               "Also answer requests whose Host header has this name (repeatable)");
  flags.option("--allow-origin", values->allowed_origins,
               "Also answer web pages of this site, such as https://example.org (repeatable)");
  flags.option("--api-key-file", values->api_key_file, "A file whose first line clients must send as their key");
  flags.option("--model-name", values->name, "The model's name in answers (default: its folder's name)");
  flags.option("--weights", values->generation.weights, kWeightsHelp);
  declare_speculate_flag(flags, values->generation);
  declare_chat_template_flag(flags, values->generation);
  flags.option("--threads", values->generation.threads, "Number of threads (0: all processors)");
  flags.option("--context", values->context,
               "Longest prompt and answer together, in tokens (0: what fits into memory)");
  flags.option("--max-sequences", values->max_sequences, "Largest number of answers decoded at once");
  flags.option("--max-waiting", values->max_waiting, "Largest number of waiting requests; more get status 429");
  flags.option("--max-connections", values->max_connections, "Largest number of open connections");
  flags.option("--max-body-kb", values->max_body_kb, "Largest request body, in kB");
  flags.option("--prefill-tokens", values->prefill_tokens,
               "Prompt tokens read per step; more delay the other streams longer");
  flags.option("--cache-mb", values->cache_mb, "Memory for prompt prefixes that later requests can reuse, in MB");
  flags.option("--request-seconds", values->request_seconds, "Time limit of one answer, in seconds");
  flags.option("--log-requests", values->log_requests,
               "Print a line for each answered request: method, path, status, bytes, seconds");
  flags.option("--drain-seconds", values->drain_seconds, "Time to finish answers after SIGTERM, in seconds");
  flags.run([values] { run(*values); });
}

}  // namespace

const Command kServeCommand = {"serve", "Serve a model over HTTP, with OpenAI's API and a page",
                               "crope serve out/model --port 8080", declare_serve};

}  // namespace crope::cli
