// crope chat: turns of a conversation on a terminal.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "cli/command.h"
#include "cli/generation_flags.h"
#include "crope/base/error.h"
#include "crope/base/interrupt.h"
#include "crope/infer/chat_template.h"

namespace crope::cli {
namespace {

struct ChatFlags {
  GenerationFlags generation;
  std::string system;
};

// Ends an answer from inside a callback.
struct AnswerInterrupted {};

void write_out(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

// The conversation as the model reads it (infer/chat_template.h). Each turn is encoded on its own, so that the ids of a
// conversation begin with those of its earlier turns.
class Conversation {
 public:
  Conversation(const model::LanguageModel& model, const ChatFlags& flags) : model_(model) {
    if (flags.generation.add_bos && model.begin_token) opening_.push_back(*model.begin_token);
    if (!flags.system.empty()) append(opening_, infer::chat_turn({infer::Role::system, flags.system}), "--system");
  }

  void reset() { turns_.clear(); }

  // Begins a turn and returns the ids to continue. The oldest turns are left out where the window, less `reserve`
  // tokens for the answer, has no place for them; `dropped` says how many.
  std::vector<std::int32_t> ask(const std::string& message, std::int64_t reserve, std::size_t& dropped) {
    turns_.emplace_back();
    append(turns_.back(), infer::chat_text({{infer::Role::user, message}}), "the message");
    const std::int64_t room = model_.window() - std::min(reserve, model_.window() / 2);
    dropped = 0;
    while (turns_.size() > 1 && size() > room) {
      turns_.erase(turns_.begin());
      ++dropped;
    }
    if (size() > room) {
      const auto length = static_cast<std::int64_t>(turns_.back().size());
      turns_.pop_back();
      throw UsageError(fmt::format("a message of {} tokens: the window has room for {}", length,
                                   room - static_cast<std::int64_t>(opening_.size())),
                       "say it in fewer words");
    }
    std::vector<std::int32_t> ids = opening_;
    for (const auto& turn : turns_) ids.insert(ids.end(), turn.begin(), turn.end());
    return ids;
  }

  void answer(const std::string& text) { append(turns_.back(), text + "\n", "the answer"); }

 private:
  void append(std::vector<std::int32_t>& ids, const std::string& text, const std::string& origin) const {
    const std::vector<std::int32_t> more = model_.encode(text, origin);
    ids.insert(ids.end(), more.begin(), more.end());
  }

  std::int64_t size() const {
    std::size_t count = opening_.size();
    for (const auto& turn : turns_) count += turn.size();
    return static_cast<std::int64_t>(count);
  }

  const model::LanguageModel& model_;
  std::vector<std::int32_t> opening_;
  std::vector<std::vector<std::int32_t>> turns_;
};

// The text of the answer. Ctrl-C ends it early.
std::string answer(infer::Engine& engine, const model::LanguageModel& model, infer::GenerationRequest request) {
  const InterruptScope interrupts;
  std::string text;
  try {
    infer::generate(engine, &*model.tokenizer, std::span(&request, 1), {},
                    {.on_token = [&](std::size_t, std::int32_t, std::string_view piece) {
                      if (interrupt_requested()) throw AnswerInterrupted{};
                      // The space after "Assistant:" belongs to the template's next word.
                      write_out(text.empty() && piece.starts_with(' ') ? piece.substr(1) : piece);
                      text += piece;
                    }});
  } catch (const AnswerInterrupted&) {
    write_out(" [stopped]");
  }
  write_out("\n");
  return text;
}

void run(const ChatFlags& flags) {
  const infer::SamplingOptions sampling = sampling_of(flags.generation);
  Log log(stderr);
  const model::LanguageModel model = load_model(flags.generation, log);
  model.require_tokenizer();
  infer::Engine engine(model.model, {});
  Conversation conversation(model, flags);
  infer::GenerationRequest request{
      .max_tokens = flags.generation.max_tokens, .sampling = sampling, .stop = flags.generation.stop};
  request.stop.emplace_back(infer::kChatStop);
  if (!flags.generation.ignore_eos) request.end_tokens = model.end_tokens;

  const bool is_terminal = ::isatty(STDIN_FILENO) != 0;
  if (is_terminal) fmt::print(stderr, "/reset forgets the conversation, /quit ends it, Ctrl-C stops an answer\n");
  for (std::string line;;) {
    if (is_terminal) fmt::print(stderr, "> ");
    if (!std::getline(std::cin, line) || line == "/quit") break;
    if (line == "/reset") {
      conversation.reset();
      log.info("the conversation is forgotten");
      continue;
    }
    if (line.starts_with('/')) {
      log.warn(fmt::format("there is no command '{}': /reset, /quit", line));
      continue;
    }
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    std::size_t dropped = 0;
    try {
      request.prompt = conversation.ask(line, flags.generation.max_tokens, dropped);
    } catch (const UsageError& e) {
      log.warn(fmt::format("{}: {}", e.what(), e.hint()));
      continue;
    }
    if (dropped > 0) log.info(fmt::format("the window is full: {} of the oldest turns left out", dropped));
    conversation.answer(answer(engine, model, request));
    ++request.sampling.seed;
  }
  if (engine.statistics().new_tokens > 0) log.info(speed_line(engine.statistics()));
}

void declare_chat(Flags& flags) {
  const auto values = std::make_shared<ChatFlags>();
  values->generation.sampling = {.temperature = 0.8, .top_p = 0.95};
  declare_generation_flags(flags, values->generation);
  flags.option("--system", values->system, "Text before the first turn");
  flags.run([values] { run(*values); });
}

}  // namespace

const Command kChatCommand = {"chat", "Talk with a model, turn by turn", "crope chat out/model --temperature 0.7",
                              declare_chat};

}  // namespace crope::cli
