// crope data: from text to token shards.
#include "cli/data_command.h"

#include "cli/command.h"

namespace crope::cli {
namespace {

void declare_data(Flags& flags) {
  Flags synth = flags.command("synth", "Write a small world as documents to train on, with three benchmarks",
                              "crope data synth --documents 20000 --seed 1 --out out/world");
  declare_data_synth(synth);
  Flags prepare = flags.command("prepare", "Tokenize documents into shards for training",
                                "crope data prepare corpus.jsonl more/ --tokenizer out/tokenizer --out out/data");
  declare_data_prepare(prepare);
  Flags inspect = flags.command("inspect", "Count, check and show what a data directory holds",
                                "crope data inspect out/data --samples 3");
  declare_data_inspect(inspect);
}

}  // namespace

const Command kDataCommand = {"data", "Make, prepare and inspect corpora", "crope data prepare --help", declare_data};

}  // namespace crope::cli
