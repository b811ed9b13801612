// The matrix products of a run (ops/product_source.h): with others its last bits would differ.
#pragma once

#include "crope/base/json.h"
#include "crope/base/log.h"
#include "crope/dist/process_group.h"

namespace crope::train {

// From now on uses the products that `program`, of run.json, names on the first rank, or those chosen by default where
// it names none, as in older runs. Every rank calls it. Throws UsageError if the name is unknown.
void use_products_of_run(const Json& program, dist::ProcessGroup& group, Log& log);

}  // namespace crope::train
