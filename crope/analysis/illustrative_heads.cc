#include "crope/analysis/illustrative_heads.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "crope/base/error.h"
#include "crope/base/random.h"
#include "crope/ops/rope.h"

namespace crope::analysis {
namespace {

using torch::Tensor;

// Vocabularies: fewer tokens than positions in the one, so that they repeat; the other as large as the default T.
constexpr std::int64_t kRepeatedTokens = 12;
constexpr std::int64_t kDistinctTokens = 64;
// The size of what should not matter beside what should ("much larger", "much smaller" in the paper).
constexpr double kSmall = 0.1;
// Tokens are put where a whole window turns by less than this angle.
constexpr double kSlowAngle = 0.5;

Tensor random_normal(std::vector<int64_t> shape, const HeadOptions& options, const char* name) {
  const RandomStream stream(options.seed, name);
  Tensor x = at::empty(shape, at::kDouble);
  auto* values = x.mutable_data_ptr<double>();
  for (int64_t i = 0; i < x.numel(); ++i) values[i] = stream.normal_at(static_cast<std::uint64_t>(i));
  return x;
}

std::vector<std::int64_t> random_ids(std::int64_t count, const HeadOptions& options, const char* name) {
  RandomStream stream(options.seed, name);
  std::vector<std::int64_t> ids(static_cast<std::size_t>(options.T));
  for (std::int64_t& id : ids) id = static_cast<std::int64_t>(stream.below(static_cast<std::uint64_t>(count)));
  return ids;
}

// e^{i s theta_j} for each s of `steps`: [S, N] complex, for heads of width 2N.
Tensor phases(const Tensor& steps, int64_t N, const HeadOptions& options) {
  const ops::RopeTable table = ops::rope_table(steps, 2 * N, options.rope_theta, at::kDouble);
  return at::complex(table.cos, table.sin);
}

Tensor phases(double step, int64_t N, const HeadOptions& options) {
  return phases(at::tensor({step}, at::kDouble), N, options)[0];
}

// The real row vectors [.., 2N] of complex ones [.., N], in halves.
Tensor to_halves(const Tensor& z) {
  return at::cat({at::real(z), at::imag(z)}, -1);
}

// The real form of x -> Z x: for rope as a dense matrix, written out entry by entry as the paper's real form is; for
// crope as the pair of a - ib = Z.
ops::Weight complex_map(HeadKind kind, const Tensor& Z) {
  const Tensor re = at::real(Z).to(at::kFloat).contiguous(), im = at::imag(Z).to(at::kFloat).contiguous();
  if (kind == HeadKind::crope) return ops::ComplexWeight{re, -im};
  return ops::DenseWeight{at::cat({at::cat({re, -im}, 1), at::cat({im, re}, 1)}, 0)};
}

ops::Weight identity(HeadKind kind, int64_t D) {
  if (kind == HeadKind::crope) return ops::ComplexWeight{at::eye(D / 2), at::zeros({D / 2, D / 2})};
  return ops::DenseWeight{at::eye(D)};
}

// Sinusoids e^{i m theta} at the positions that the kind asks for, with a root mean square of one.
Tensor sinusoids(HeadKind kind, int64_t D, const HeadOptions& options) {
  const int64_t T = options.T;
  const Tensor steps = kind == HeadKind::absolute ? at::arange(T) : at::arange(1 - T, T);
  return to_halves(phases(steps, D / 2, options)) * std::numbers::sqrt2;
}

bool has_position_vectors(HeadKind kind) {
  return kind == HeadKind::absolute || kind == HeadKind::relative;
}

IllustrativeHead assemble(HeadKind kind, const HeadOptions& options, const Tensor& tokens, const Tensor& positions,
                          ops::Weight q, ops::Weight k) {
  return {.head = {.kind = kind,
                   .rope_theta = options.rope_theta,
                   .tokens = tokens.to(at::kFloat),
                   .positions = positions.defined() ? positions.to(at::kFloat) : positions,
                   .q = std::move(q),
                   .k = std::move(k)}};
}

IllustrativeHead same_token_head(HeadKind kind, const HeadOptions& options) {
  const int64_t D = options.D;
  const std::vector<std::int64_t> ids = random_ids(kRepeatedTokens, options, "same_token.ids");
  Tensor vocabulary = random_normal({kRepeatedTokens, 2, D / 2}, options, "same_token.vocabulary");
  Tensor positions;
  if (has_position_vectors(kind)) {
    positions = kSmall * sinusoids(kind, D, options);
  } else {
    // The pairs of the longest wavelengths, and at least the very longest.
    const Tensor speed = phases(1.0, D / 2, options).angle();
    Tensor slow = speed.mul(static_cast<double>(options.T)).lt(kSlowAngle);
    slow[D / 2 - 1] = true;
    vocabulary = vocabulary * slow;
  }
  vocabulary = vocabulary.reshape({kRepeatedTokens, D});
  vocabulary = vocabulary / vocabulary.square().mean(1, /*keepdim=*/true).sqrt();
  IllustrativeHead made = assemble(kind, options, vocabulary.index_select(0, at::tensor(ids)), positions,
                                   identity(kind, D), identity(kind, D));
  for (std::size_t m = 0; m < ids.size(); ++m) {
    std::vector<std::int64_t>& row = made.targets.emplace_back();
    const std::size_t end = options.mask == ops::Mask::causal ? m + 1 : ids.size();
    for (std::size_t n = 0; n < end; ++n) {
      if (ids[n] == ids[m]) row.push_back(static_cast<std::int64_t>(n));
    }
  }
  made.token_ids = ids;
  return made;
}

// Reads the same constant off every token of the vocabulary, by least squares: exactly where there are more dimensions
// than tokens. A map from 2N reals to 2N ones, complex-linear for crope.
ops::Weight constant_reader(HeadKind kind, const Tensor& vocabulary) {
  const int64_t N = vocabulary.size(1) / 2;
  if (kind == HeadKind::crope) {
    const Tensor z = at::complex(vocabulary.narrow(1, 0, N).contiguous(), vocabulary.narrow(1, N, N).contiguous());
    const Tensor w = at::linalg_pinv(z).sum(1) * c10::complex<double>(1, 1);  // z w = 1 + i, that is (1, 1)
    return complex_map(kind, w.unsqueeze(0).expand({N, N}));
  }
  const Tensor w = at::linalg_pinv(vocabulary).sum(1);
  return ops::DenseWeight{w.to(at::kFloat).unsqueeze(0).expand({2 * N, 2 * N}).contiguous()};
}

IllustrativeHead same_position_head(HeadKind kind, bool has_bias, const HeadOptions& options) {
  const int64_t D = options.D;
  const std::vector<std::int64_t> ids = random_ids(kDistinctTokens, options, "same_position.ids");
  const Tensor vocabulary = random_normal({kDistinctTokens, D}, options, "same_position.vocabulary");
  const Tensor tokens = vocabulary.index_select(0, at::tensor(ids));
  IllustrativeHead made;
  if (kind == HeadKind::absolute) {
    made = assemble(kind, options, kSmall * tokens, sinusoids(kind, D, options), identity(kind, D), identity(kind, D));
  } else if (kind == HeadKind::relative) {
    // p' p is the same at every distance. Reflected, p' s3 p = sum cos(2 d theta), which has its peak at d = 0.
    const Tensor reflection = at::diag(at::cat({at::ones(D / 2), -at::ones(D / 2)}));
    made = assemble(kind, options, kSmall * tokens, sinusoids(kind, D, options), identity(kind, D),
                    ops::DenseWeight{reflection});
  } else if (has_bias) {
    made = assemble(kind, options, at::ones({options.T, D}), {}, identity(kind, D),
                    identity(kind, D));  // W_e = 0, b_e = 1
  } else {
    const ops::Weight reader = constant_reader(kind, vocabulary);
    made = assemble(kind, options, tokens, {}, reader, reader);
  }
  made.token_ids = ids;
  for (std::int64_t m = 0; m < options.T; ++m) made.targets.push_back({m});
  return made;
}

// How far "next" (0) and "nexnext" (1) look.
std::int64_t step_of(std::int64_t token_id, const HeadOptions& options) {
  return (options.mask == ops::Mask::causal ? -1 : 1) * (token_id + 1);
}

void set_shifted_targets(IllustrativeHead& made, const HeadOptions& options) {
  for (std::int64_t m = 0; m < options.T; ++m) {
    const std::int64_t n = m + step_of(made.token_ids[static_cast<std::size_t>(m)], options);
    made.targets.push_back(n >= 0 && n < options.T ? std::vector{n} : std::vector<std::int64_t>());
  }
}

// The appendix's tokens: complex numbers a_1, 0, a_2, 0, … for "next" and 0, a'_1, 0, a'_2, … for "nexnext". Every
// token of the sequence has its own a, of mean one: [T, N] real parts, the imaginary parts are zero.
Tensor typed_tokens(std::span<const std::int64_t> ids, int64_t N, const HeadOptions& options) {
  const auto T = static_cast<int64_t>(ids.size());
  Tensor content = random_normal({T, N / 2}, options, "token_dependent.content");
  content = content - content.mean(1, /*keepdim=*/true) + 1;
  Tensor tokens = at::zeros({T, N / 2, 2}, at::kDouble);
  for (int64_t m = 0; m < T; ++m) tokens[m].select(1, ids[static_cast<std::size_t>(m)]).copy_(content[m]);
  return tokens.reshape({T, N});
}

// The columns of a map from typed tokens of N complex numbers: `next` at even places, `nexnext` at odd ones, so that a
// token of mean one gives that vector. [M, N] from two [M].
Tensor typed_columns(const Tensor& next, const Tensor& nexnext, int64_t N) {
  const Tensor columns = at::stack({next, nexnext}, 1).unsqueeze(1).expand({next.size(0), N / 2, 2});
  return columns.reshape({next.size(0), N}) / static_cast<double>(N / 2);
}

IllustrativeHead rotary_token_dependent_head(HeadKind kind, const HeadOptions& options) {
  const int64_t N = options.D / 2;
  const std::vector<std::int64_t> ids = random_ids(2, options, "token_dependent.ids");
  const Tensor tokens = typed_tokens(ids, N, options);
  const double sign = options.query_phase == QueryPhase::as_printed ? -1 : 1;
  const auto query = [&](std::int64_t id) {
    return phases(sign * static_cast<double>(step_of(id, options)), N, options) * std::numbers::sqrt2;
  };
  const Tensor ones = at::ones({N}, at::kComplexDouble) * std::numbers::sqrt2;
  IllustrativeHead made = assemble(kind, options, at::cat({tokens, at::zeros_like(tokens)}, 1), {},
                                   complex_map(kind, typed_columns(query(0), query(1), N)),
                                   complex_map(kind, typed_columns(ones, ones, N)));
  made.token_ids = ids;
  return made;
}

// Tokens in the first half of the complex dimensions, positions in the second: x + p without a clash. Queries and keys
// have their numbers in the second half too, twice as large for it.
struct SplitWidth {
  int64_t N;  // complex dimensions in all
  int64_t half() const { return N / 2; }

  Tensor token_part(const Tensor& real_tokens) const {
    return to_halves(at::constant_pad_nd(at::complex(real_tokens, at::zeros_like(real_tokens)), {0, half()}));
  }
  Tensor position_part(const Tensor& z) const { return to_halves(at::constant_pad_nd(z, {half(), 0})); }

  // The map whose second half of rows is [from_tokens | diag(from_positions)].
  ops::Weight map(const Tensor& from_tokens, const Tensor& from_positions) const {
    const Tensor lower = at::cat({from_tokens, at::diag(from_positions)}, 1);
    return complex_map(HeadKind::rope, at::cat({at::zeros_like(lower), lower}, 0));
  }
};

IllustrativeHead relative_token_dependent_head(const HeadOptions& options) {
  const SplitWidth width{options.D / 2};
  const int64_t half = width.half();
  const std::vector<std::int64_t> ids = random_ids(2, options, "token_dependent.ids");
  const Tensor none = at::zeros({half}, at::kComplexDouble), no_tokens = at::zeros({half, half}, at::kComplexDouble);
  const auto query = [&](std::int64_t id) {
    return phases(static_cast<double>(step_of(id, options)), half, options) * 2;
  };
  IllustrativeHead made =
      assemble(HeadKind::relative, options, width.token_part(typed_tokens(ids, half, options)),
               width.position_part(phases(at::arange(1 - options.T, options.T), half, options)),
               width.map(typed_columns(query(0), query(1), half), none), width.map(no_tokens, at::ones_like(none) * 2));
  made.token_ids = ids;
  return made;
}

void check(const HeadOptions& options) {
  if (options.D <= 0 || options.D % 16 != 0) {
    throw UsageError(fmt::format("a head of width {}: expected a positive multiple of 16", options.D));
  }
  if (options.T <= 0) throw UsageError(fmt::format("a sequence of {} tokens: expected at least one", options.T));
}

}  // namespace

IllustrativeHead make_absolute_try(AbsoluteTry attempt, const HeadOptions& options, std::int64_t first_position) {
  check(options);
  const SplitWidth width{options.D / 2};
  const int64_t half = width.half(), T = options.T;
  const std::vector<std::int64_t> ids = random_ids(2, options, "token_dependent.ids");
  const Tensor ones = at::ones({half}, at::kComplexDouble);
  const Tensor positions = phases(at::arange(first_position, first_position + T), half, options);
  const double direction = options.mask == ops::Mask::causal ? -1 : 1;
  Tensor from_next = at::zeros_like(ones), from_nexnext = from_next, from_position;
  switch (attempt) {
    case AbsoluteTry::own_position:
      from_next = phases(direction, half, options) * std::numbers::sqrt2;
      from_nexnext = phases(2 * direction, half, options) * std::numbers::sqrt2;
      from_position = ones * std::numbers::sqrt2;
      break;
    case AbsoluteTry::always_next:
      from_position = phases(direction, half, options) * 2;
      break;
    case AbsoluteTry::tilt: {
      from_position = phases(1.5 * direction, half, options) * 2;
      // Re[(-i c)* e^{i n theta}] = -c sin(n theta), over the slow pairs nearly a straight line down. Over the window
      // it falls by half of what the peak of the positions falls, so that it moves the peak and does not replace it.
      const Tensor speed = phases(1.0, half, options).angle();
      Tensor slow = speed.mul(static_cast<double>(T)).lt(kSlowAngle);
      slow[half - 1] = true;
      const Tensor window = at::real(phases(static_cast<double>(T), half, options));
      const double peak_falls = 2 * (1 - window).sum().item<double>();
      const double line_falls = speed.mul(static_cast<double>(T)).sin().mul(slow).sum().item<double>();
      const Tensor line =
          slow.to(at::kComplexDouble) * c10::complex<double>(0, -0.5 * direction * peak_falls / line_falls);
      from_next = line;
      from_nexnext = -line;
      break;
    }
  }
  IllustrativeHead made =
      assemble(HeadKind::absolute, options, width.token_part(typed_tokens(ids, half, options)),
               width.position_part(positions), width.map(typed_columns(from_next, from_nexnext, half), from_position),
               width.map(at::zeros({half, half}, at::kComplexDouble), ones * 2));
  made.token_ids = ids;
  set_shifted_targets(made, options);
  return made;
}

IllustrativeHead make_illustrative_head(HeadKind kind, HeadTask task, const HeadOptions& options) {
  check(options);
  switch (task) {
    case HeadTask::same_token:
      return same_token_head(kind, options);
    case HeadTask::same_position:
      return same_position_head(kind, /*has_bias=*/true, options);
    case HeadTask::same_position_free:
      return same_position_head(kind, /*has_bias=*/false, options);
    case HeadTask::token_dependent:
      break;
  }
  if (kind == HeadKind::absolute) return make_absolute_try(AbsoluteTry::own_position, options);
  IllustrativeHead made =
      kind == HeadKind::relative ? relative_token_dependent_head(options) : rotary_token_dependent_head(kind, options);
  set_shifted_targets(made, options);
  return made;
}

}  // namespace crope::analysis
