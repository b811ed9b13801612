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

// The conversation as the model reads it. What earlier turns have in common with the next one is not read again.
class Conversation {
 public:
  Conversation(const model::LanguageModel& model, const ChatFlags& flags)
      : model_(model), template_(chat_template_of(flags.generation, model)), add_bos_(flags.generation.add_bos) {
    if (!flags.system.empty()) opening_.push_back({infer::Role::system, checked(flags.system, "--system")});
  }

  const infer::ChatTemplate& chat_template() const { return template_; }

  void reset() { turns_.clear(); }

  // Begins a turn and returns the ids to continue. The oldest turns are omitted where the window, less `reserve` tokens
  // for the answer, has no place for them; `dropped` counts them.
  std::vector<std::int32_t> ask(const std::string& message, std::int64_t reserve, std::size_t& dropped) {
    const std::int64_t room = model_.window() - std::min(reserve, model_.window() / 2);
    turns_.push_back({infer::Role::user, checked(message, "the message")});
    std::vector<std::int32_t> ids = encoded();
    for (dropped = 0; turns_.size() > 1 && std::ssize(ids) > room; ++dropped) {
      turns_.erase(turns_.begin(), turns_.begin() + 2);  // a message and its answer
      ids = encoded();
    }
    if (std::ssize(ids) > room) {
      turns_.pop_back();
      throw UsageError(fmt::format("a conversation of {} tokens: the window has room for {}", ids.size(), room),
                       "shorten the message");
    }
    return ids;
  }

  void answer(const std::string& text) { turns_.push_back({infer::Role::assistant, text}); }

 private:
  std::string checked(const std::string& text, const std::string& origin) const {
    model_.encode(text, origin);  // throws if it is not UTF-8
    return text;
  }

  std::vector<std::int32_t> encoded() const {
    std::vector<infer::Message> messages = opening_;
    messages.insert(messages.end(), turns_.begin(), turns_.end());
    std::vector<std::int32_t> ids = template_.encode(messages, *model_.tokenizer, model_.begin_token);
    if (add_bos_ && model_.begin_token && (ids.empty() || ids.front() != *model_.begin_token)) {
      ids.insert(ids.begin(), *model_.begin_token);
    }
    return ids;
  }

  const model::LanguageModel& model_;
  const infer::ChatTemplate template_;
  const bool add_bos_;
  std::vector<infer::Message> opening_;
  std::vector<infer::Message> turns_;  // message, answer, message, ...
};

// The text of the answer. Ctrl-C ends it early.
std::string answer(infer::Engine& engine, const model::LanguageModel& model, infer::GenerationRequest request,
                   bool begins_with_space) {
  const InterruptScope interrupts;
  std::string text;
  try {
    infer::generate(engine, &*model.tokenizer, std::span(&request, 1), {},
                    {.on_token = [&](std::size_t, std::int32_t, std::string_view piece) {
                      if (interrupt_requested()) throw AnswerInterrupted{};
                      // The space behind the template's mark is the first word's.
                      if (begins_with_space && text.empty() && piece.starts_with(' ')) piece.remove_prefix(1);
                      write_out(piece);
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
  infer::Engine engine(model.model, engine_options(flags.generation));
  Conversation conversation(model, flags);
  infer::GenerationRequest request{
      .max_tokens = flags.generation.max_tokens, .sampling = sampling, .stop = flags.generation.stop};
  const infer::ChatTemplate& chat = conversation.chat_template();
  for (std::string& stop : chat.stops()) request.stop.push_back(std::move(stop));
  if (!flags.generation.ignore_eos) {
    request.end_tokens = model.end_tokens;
    const std::vector<std::int32_t> turn_ends = chat.end_tokens(*model.tokenizer);
    request.end_tokens.insert(request.end_tokens.end(), turn_ends.begin(), turn_ends.end());
  }

  const bool is_terminal = ::isatty(STDIN_FILENO) != 0;
  if (is_terminal) fmt::print(stderr, "/reset forgets the conversation, /quit ends it, Ctrl-C stops an answer\n");
  for (std::string line;;) {
    if (is_terminal) fmt::print(stderr, "> ");
    if (!std::getline(std::cin, line) || line == "/quit") break;
    if (line == "/reset") {
      conversation.reset();
      log.info("the conversation starts again");
      continue;
    }
    if (line.starts_with('/')) {
      log.warn(fmt::format("unknown command '{}'; known: /reset, /quit", line));
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
    if (dropped > 0) log.info(fmt::format("the window is full: {} of the oldest turns were dropped", dropped));
    conversation.answer(answer(engine, model, request, chat.answer_begins_with_space()));
    ++request.sampling.seed;
  }
  if (engine.statistics().new_tokens > 0) log.info(speed_line(engine.statistics()));
}

void declare_chat(Flags& flags) {
  const auto values = std::make_shared<ChatFlags>();
  values->generation.sampling = {.temperature = 0.8, .top_p = 0.95};
  declare_generation_flags(flags, values->generation);
  declare_chat_template_flag(flags, values->generation);
  flags.option("--system", values->system, "System message, before the first turn");
  flags.run([values] { run(*values); });
}

}  // namespace

const Command kChatCommand = {"chat", "Talk with a model, turn by turn", "crope chat out/model --temperature 0.7",
                              declare_chat};

}  // namespace crope::cli
