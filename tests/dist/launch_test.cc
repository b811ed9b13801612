#include "crope/dist/launch.h"

#include <gtest/gtest.h>

#include <map>

#include "crope/base/error.h"
#include "crope/base/threads.h"

namespace crope::dist {
namespace {

Launch launch_of(const std::map<std::string, std::string>& variables) {
  return read_launch([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return {};
    return found->second;
  });
}

const std::map<std::string, std::string> kTorchrun = {{"RANK", "3"},
                                                      {"WORLD_SIZE", "4"},
                                                      {"LOCAL_RANK", "1"},
                                                      {"LOCAL_WORLD_SIZE", "2"},
                                                      {"MASTER_ADDR", "10.0.0.7"},
                                                      {"MASTER_PORT", "29500"},
                                                      {"OMP_NUM_THREADS", "1"},
                                                      {"TORCHELASTIC_RUN_ID", "job"},
                                                      {"TORCHELASTIC_RESTART_COUNT", "2"},
                                                      {"TORCHELASTIC_USE_AGENT_STORE", "True"}};

TEST(Launch, WithoutALauncherItIsAWorldOfOne) {
  const Launch launch = launch_of({});
  EXPECT_EQ(launch.rank, 0);
  EXPECT_EQ(launch.size, 1);
  EXPECT_EQ(launch.address, "");
}

TEST(Launch, ReadsTorchrunsVariables) {
  const Launch launch = launch_of(kTorchrun);
  EXPECT_EQ(launch.rank, 3);
  EXPECT_EQ(launch.size, 4);
  EXPECT_EQ(launch.local_rank, 1);
  EXPECT_EQ(launch.local_size, 2);
  EXPECT_EQ(launch.address, "10.0.0.7");
  EXPECT_EQ(launch.port, 29500);
  EXPECT_TRUE(launch.agent_has_store);
  EXPECT_EQ(launch.attempt, "job/2");
}

TEST(Launch, AShellLoopOnOneMachineHasAllRanksThere) {
  const std::map<std::string, std::string> loop = {
      {"RANK", "1"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", "1234"}};
  EXPECT_EQ(launch_of(loop).local_size, 4);
  EXPECT_EQ(launch_of(loop).local_rank, 1);
  EXPECT_FALSE(launch_of(loop).agent_has_store);
}

TEST(Launch, SlurmsTasksAreRanksWhereTheyKnowWhereToMeet) {
  std::map<std::string, std::string> slurm = {{"SLURM_PROCID", "5"},        {"SLURM_NTASKS", "6"},
                                              {"SLURM_LOCALID", "1"},       {"SLURM_STEP_TASKS_PER_NODE", "2(x3)"},
                                              {"SLURM_CPUS_PER_TASK", "1"}, {"SLURM_JOB_ID", "99"},
                                              {"SLURM_STEP_NUM_TASKS", "6"}};
  EXPECT_THROW(launch_of(slurm), UsageError);
  slurm["MASTER_ADDR"] = "node1";
  slurm["MASTER_PORT"] = "29500";
  const Launch launch = launch_of(slurm);
  EXPECT_EQ(launch.rank, 5);
  EXPECT_EQ(launch.size, 6);
  EXPECT_EQ(launch.local_size, 2);
  EXPECT_EQ(threads_per_rank(launch), 1);
  // A batch script has these too, and starts no ranks.
  EXPECT_EQ(launch_of({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "6"}}).size, 1);
}

TEST(Launch, WhatMakesNoSenseIsRefusedByName) {
  const auto message = [](const char* name, const char* value) -> std::string {
    std::map<std::string, std::string> variables = kTorchrun;
    if (value == nullptr) {
      variables.erase(name);
    } else {
      variables[name] = value;
    }
    try {
      launch_of(variables);
    } catch (const UsageError& e) {
      return e.what();
    }
    return "";
  };
  for (const auto& [name, value] :
       std::initializer_list<std::pair<const char*, const char*>>{{"RANK", "4"},
                                                                  {"RANK", "-1"},
                                                                  {"RANK", "x"},
                                                                  {"RANK", nullptr},
                                                                  {"WORLD_SIZE", "0"},
                                                                  {"WORLD_SIZE", nullptr},
                                                                  {"LOCAL_RANK", "2"},
                                                                  {"LOCAL_WORLD_SIZE", "5"},
                                                                  {"MASTER_ADDR", ""},
                                                                  {"MASTER_ADDR", nullptr},
                                                                  {"MASTER_PORT", "70000"},
                                                                  {"MASTER_PORT", nullptr}}) {
    EXPECT_NE(message(name, value).find(name), std::string::npos) << name << ": " << message(name, value);
  }
}

TEST(Launch, RanksShareTheProcessorsOfTheirMachine) {
  const int all = available_processors();
  EXPECT_EQ(threads_per_rank({.size = 4, .local_size = 2}), std::max(1, all / 2));
  EXPECT_EQ(threads_per_rank({.size = 4, .local_size = 1}), all);
  EXPECT_EQ(threads_per_rank({.size = 1000, .local_size = 1000}), 1);
  EXPECT_EQ(launch_of(kTorchrun).given_threads, 0);
}

}  // namespace
}  // namespace crope::dist
