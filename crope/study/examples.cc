#include "crope/study/examples.h"

#include "crope/base/file.h"
#include "crope/study/example_figures.h"

namespace crope::study {
namespace {

using namespace analysis;

Json measures_to_json(const HeadMeasures& m) {
  return {{"rows", m.rows},
          {"rows_right", m.rows_right},
          {"target_weight", m.target_weight},
          {"largest_elsewhere", m.largest_elsewhere},
          {"target_score", m.target_score},
          {"elsewhere_score", m.elsewhere_score}};
}

Json samples_to_json(const std::vector<HeadSample>& samples) {
  Json array = Json::array();
  for (const HeadSample& sample : samples) {
    Json json = {{"kind", head_kind_name(sample.kind)},
                 {"task", head_task_name(sample.task)},
                 {"D", sample.options.D},
                 {"T", sample.options.T},
                 {"mask", sample.options.mask == ops::Mask::causal ? "causal" : "bidirectional"}};
    json.update(measures_to_json(sample.measures));
    array.push_back(std::move(json));
  }
  return array;
}

}  // namespace

Examples make_examples(const ExampleOptions& options, Log& log) {
  Examples examples{.heads = study_heads(options.heads, log), .toy_options = options.toy};
  if (options.train) examples.trained = study_toy_task(options.toy, options.toy_widths, log);
  return examples;
}

Json examples_to_json(const Examples& examples) {
  const HeadStudy& heads = examples.heads;
  Json absolute = Json::array(), interaction = Json::object(), trained = Json::array();
  for (const AbsoluteSample& sample : heads.absolute) {
    Json json = {{"head", absolute_try_name(sample.attempt)}, {"first_position", sample.first_position}};
    json.update(measures_to_json(sample.measures));
    absolute.push_back(std::move(json));
  }
  for (std::size_t i = 0; i < heads.interaction.size(); ++i) {
    interaction[std::string(head_kind_name(kHeadKinds[i]))] = heads.interaction[i];
  }
  for (const ToyRun& run : examples.trained) {
    trained.push_back({{"kind", toy_kind_name(run.kind)},
                       {"D", run.D},
                       {"seed", run.seed},
                       {"parameters", run.parameters},
                       {"steps", run.steps},
                       {"accuracy", run.accuracy},
                       {"first_positions", examples.toy_options.first_positions},
                       {"moved_accuracy", run.moved_accuracy}});
  }
  Json as_printed = measures_to_json(heads.as_printed);
  as_printed["rows_mirrored"] = heads.as_printed_mirrored;
  return {{"samples", samples_to_json(heads.samples)},
          {"by_width", samples_to_json(heads.by_width)},
          {"by_length", samples_to_json(heads.by_length)},
          {"absolute", absolute},
          {"token_position_interaction", interaction},
          {"query_conjugate_linear_share", heads.query_conjugate_share},
          {"phases_as_printed", as_printed},
          {"trained", trained}};
}

std::vector<report::Section> example_sections(const Examples& examples, const std::filesystem::path& dir) {
  std::vector<report::Section> sections = {head_section(examples.heads, dir)};
  if (!examples.trained.empty()) sections.push_back(trained_section(examples.trained, examples.toy_options, dir));
  return sections;
}

void write_examples(const Examples& examples, const std::filesystem::path& dir) {
  make_folder(dir);
  write_json(dir / "examples.json", examples_to_json(examples));
  write_file(dir / "index.html",
             report::html_page({.title = "The illustrative heads",
                                .lead = "The paper's illustrative heads with their analytic weights, run through the "
                                        "projections, rotations and softmax "
                                        "of the model; and one layer that learns the same task.",
                                .sections = example_sections(examples, dir),
                                .footer = "All numbers are in `examples.json`. Made by `crope examples`."}));
}

}  // namespace crope::study
