#include "crope/data/token_loader.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "crope/base/error.h"
#include "tests/data/scratch_folder.h"

namespace crope::data {
namespace {

using Tokens = std::vector<std::int64_t>;

class TokenLoaderTest : public ScratchFolder {
 protected:
  // Tokens 0, 1, 2, … in shards of the given sizes: a row's first token says which row it is.
  std::shared_ptr<const TokenRows> make_rows(const std::vector<int>& sizes, std::int64_t seq_len,
                                             std::int64_t vocab_size = 100'000) {
    std::vector<std::filesystem::path> paths;
    std::int32_t next = 0;
    for (const int size : sizes) {
      std::vector<std::int32_t> tokens(static_cast<std::size_t>(size));
      std::iota(tokens.begin(), tokens.end(), next);
      next += size;
      paths.push_back(folder_ / ("train_" + std::to_string(paths.size()) + ".bin"));
      formats::TokenShardWriter writer(paths.back(), formats::TokenWidth::u32);
      writer.append(tokens);
      writer.commit();
    }
    return std::make_shared<TokenRows>(paths, seq_len, vocab_size);
  }
};

Tokens iota(std::int64_t first, std::size_t count) {
  Tokens tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

TEST_F(TokenLoaderTest, RowsShareTheirEndsAndCrossShards) {
  const auto rows = make_rows({5, 0, 1, 7, 3}, 4);  // 16 tokens: three rows of 4 + 1
  EXPECT_EQ(rows->size(), 3u);
  for (std::int64_t row = 0; row < 3; ++row) {
    EXPECT_EQ(rows->read_range(static_cast<std::uint64_t>(row), 1), iota(4 * row, 5));
  }
  EXPECT_EQ(make_rows({17}, 4)->size(), 4u);
}

TEST_F(TokenLoaderTest, TooShortACorpusSaysHowMuchIsMissing) {
  try {
    make_rows({4}, 4);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("needs 5, 4 found"), std::string::npos) << e.what();
  }
  EXPECT_EQ(make_rows({5}, 4)->size(), 1u);
  try {
    TokenLoader loader(make_rows({16}, 4), {.batch_rows = 4});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("needs 17, 16 found"), std::string::npos) << e.what();
  }
}

TEST_F(TokenLoaderTest, IdsOutsideTheVocabularyAreErrorsOnTheCallersThread) {
  TokenLoader loader(make_rows({33}, 4, /*vocab_size=*/20), {.batch_rows = 4, .order = RowOrder::sequential});
  EXPECT_EQ(loader.next().rows, 4);
  EXPECT_THROW(loader.next(), Error);
  EXPECT_THROW(loader.next(), Error);
}

TEST_F(TokenLoaderTest, SequentialOrderIsTheCorpusInRankOrder) {
  const auto rows = make_rows({1000, 201}, 10);  // 120 rows
  TokenLoader alone(rows, {.batch_rows = 6, .order = RowOrder::sequential});
  TokenLoader first(rows, {.batch_rows = 6, .rank = 0, .world_size = 2, .order = RowOrder::sequential});
  TokenLoader second(rows, {.batch_rows = 6, .rank = 1, .world_size = 2, .order = RowOrder::sequential});
  for (std::uint64_t step = 0; step < 50; ++step) {
    const Tokens expected = rows->read_range(step * 6 % 120, 6);
    EXPECT_EQ(alone.next().tokens, expected);
    Tokens both = first.next().tokens;
    const Tokens rest = second.next().tokens;
    both.insert(both.end(), rest.begin(), rest.end());
    EXPECT_EQ(both, expected);
  }
  EXPECT_DOUBLE_EQ(alone.epoch(), 2.5);
}

TEST_F(TokenLoaderTest, EveryEpochSeesEveryRowOnceWhateverTheRanks) {
  const auto rows = make_rows({400, 331}, 10);  // 73 rows, which no batch divides
  for (const RowOrder order : {RowOrder::sequential, RowOrder::shuffled}) {
    std::vector<Tokens> orders;
    for (const int world_size : {1, 2, 3}) {
      std::vector<std::unique_ptr<TokenLoader>> ranks;
      for (int rank = 0; rank < world_size; ++rank) {
        const LoaderOptions options{.batch_rows = 6, .rank = rank, .world_size = world_size, .order = order, .seed = 5};
        ranks.push_back(std::make_unique<TokenLoader>(rows, options));
      }
      Tokens seen;                             // first tokens
      for (int step = 0; step < 73; ++step) {  // six epochs
        for (const auto& rank : ranks) {
          const TokenBatch batch = rank->next();
          ASSERT_EQ(batch.tokens.size(), static_cast<std::size_t>(batch.rows) * 11);
          for (std::int64_t row = 0; row < batch.rows; ++row) {
            const auto at = batch.tokens.begin() + row * 11;
            EXPECT_EQ(Tokens(at, at + 11), iota(*at, 11));
            seen.push_back(*at);
          }
        }
      }
      for (std::size_t epoch = 0; epoch < 6; ++epoch) {
        std::map<std::int64_t, int> times;
        for (std::size_t i = epoch * 73; i < (epoch + 1) * 73; ++i) ++times[seen[i]];
        EXPECT_EQ(times.size(), 73u) << "epoch " << epoch << ", world " << world_size;
      }
      orders.push_back(seen);
    }
    EXPECT_EQ(orders[0], orders[1]);
    EXPECT_EQ(orders[0], orders[2]);
    const Tokens epoch0(orders[0].begin(), orders[0].begin() + 73),
        epoch1(orders[0].begin() + 73, orders[0].begin() + 146);
    EXPECT_EQ(epoch0 == epoch1, order == RowOrder::sequential);
  }
}

TEST_F(TokenLoaderTest, GoesOnFromAnyStateAlsoWithOtherRanks) {
  const auto rows = make_rows({731}, 10);
  for (const RowOrder order : {RowOrder::sequential, RowOrder::shuffled}) {
    const LoaderOptions options{.batch_rows = 6, .order = order, .seed = 9};
    TokenLoader straight(rows, options);
    for (int step = 0; step < 30; ++step) {
      const std::string saved = to_json(straight.state()).dump();
      const Tokens expected = straight.next().tokens;
      const LoaderState state = loader_state_from_json(parse_json(saved, "state"), "state");

      TokenLoader resumed(rows, options);
      resumed.next();  // something to be thrown away
      resumed.restore(state);
      EXPECT_EQ(resumed.next().tokens, expected) << step;

      Tokens of_ranks;
      for (int rank = 0; rank < 3; ++rank) {
        TokenLoader loader(rows, {.batch_rows = 6, .rank = rank, .world_size = 3, .order = order, .seed = 9});
        loader.restore(state);
        const Tokens part = loader.next().tokens;
        of_ranks.insert(of_ranks.end(), part.begin(), part.end());
      }
      EXPECT_EQ(of_ranks, expected) << step;
    }
  }
}

TEST_F(TokenLoaderTest, RefusesTheStateOfAnotherRun) {
  const auto rows = make_rows({731}, 10);
  TokenLoader loader(rows, {.batch_rows = 2, .seed = 1});
  const auto refuses = [&](auto change) {
    LoaderState state = loader.state();
    change(state);
    EXPECT_THROW(loader.restore(state), Error);
  };
  refuses([](LoaderState& state) { state.seed = 2; });
  refuses([](LoaderState& state) { state.corpus_tokens = 730; });
  refuses([](LoaderState& state) { state.seq_len = 11; });
  refuses([](LoaderState& state) { state.order = RowOrder::sequential; });
  for (const char* bad : {"[]", "{}", "{\"position\": -1}", "{\"order\": 3}"}) {
    EXPECT_THROW(loader_state_from_json(parse_json(bad, "x"), "x"), Error) << bad;
  }
}

TEST_F(TokenLoaderTest, RanksMustShareEvenly) {
  const auto rows = make_rows({731}, 10);
  EXPECT_THROW(TokenLoader(rows, {.batch_rows = 5, .rank = 0, .world_size = 2}), UsageError);
  EXPECT_THROW(TokenLoader(rows, {.batch_rows = 4, .rank = 2, .world_size = 2}), UsageError);
  EXPECT_THROW(TokenLoader(rows, {.batch_rows = 0}), UsageError);
}

}  // namespace
}  // namespace crope::data
