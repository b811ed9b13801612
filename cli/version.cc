#include "cli/version.h"

#include <ATen/Version.h>
#include <fmt/format.h>
#include <link.h>
#include <torch/version.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string_view>

#include "crope/base/rounding.h"
#include "crope/ops/device.h"
#include "crope/ops/product_source.h"

namespace crope::cli {

std::string version_number() {
  return CROPE_VERSION;
}

std::string version_line() {
  const std::string kernels = ops::cpu_instruction_set().value_or("off");
  return fmt::format("crope {}, LibTorch {} ({}), fused kernels: {}", CROPE_VERSION, TORCH_VERSION,
                     at::get_cpu_capability(), kernels);
}

namespace {

constexpr std::string_view kBuildIdOwner("GNU\0", 4);

// The linker's hash of the program's contents, from the note that it leaves in the file; empty where it left none.
int find_build_id(dl_phdr_info* object, std::size_t, void* result) {
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto* at = reinterpret_cast<const char*>(object->dlpi_addr + segment.p_vaddr);
    const char* const end = at + segment.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(at);
      const char* const owner = at + sizeof *note;
      const char* const content = owner + round_up<std::size_t>(note->n_namesz, 4);
      if (note->n_type == NT_GNU_BUILD_ID && std::string_view(owner, note->n_namesz) == kBuildIdOwner) {
        for (std::size_t byte = 0; byte < note->n_descsz; ++byte) {
          *static_cast<std::string*>(result) += fmt::format("{:02x}", static_cast<unsigned char>(content[byte]));
        }
        return 1;
      }
      at = content + round_up<std::size_t>(note->n_descsz, 4);
    }
  }
  return 1;  // the program comes first; its libraries do not matter
}

}  // namespace

std::string build_id() {
  std::string id;
  ::dl_iterate_phdr(find_build_id, &id);
  return id;
}

Json program_record() {
  // Arguments are separated by NUL in this file; the shell's quotes are gone.
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string command((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!command.empty()) command.pop_back();
  std::ranges::replace(command, '\0', ' ');
  const std::time_t now = std::time(nullptr);
  char date[32];
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  return {{"version", CROPE_VERSION},
          {"build", build_id()},
          {"libtorch", TORCH_VERSION},
          {"instruction_set", at::get_cpu_capability()},
          {"fused_kernels", ops::cpu_instruction_set().value_or("off")},
          {"products", Choice(ops::product_source(ops::ProductUse::training)).name()},
          {"command", command},
          {"date", date}};
}

}  // namespace crope::cli
