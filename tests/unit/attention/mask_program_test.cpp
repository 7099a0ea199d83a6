#include "attention/mask_program.hpp"

#include <array>
#include <catch_amalgamated.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#ifndef __EMSCRIPTEN__
#include <unistd.h>
#endif

#include "random_masks.hpp"

using namespace attn;
using namespace attn::test;

TEST_CASE("a mask as lines of NumPy, PyTorch, JAX and FlexAttention", "[unit][mask]") {
    const Mask mask = Mask::causal() & (Mask::padding(4) | Mask::window(15, 0));
    CHECK(mask_program(mask, 0, 8, 6, MaskProgram::numpy) ==
          "# True where a query may look at a key: causal(0) & (padding(4) | window(15,0))\n"
          "import numpy as np\n"
          "\n"
          "n_q, n_k = 8, 6\n"
          "q, k = np.arange(n_q)[:, None], np.arange(n_k)[None, :]\n"
          "allowed = np.broadcast_to(((k <= q) & ((k < 4) | ((q - 15 <= k) & (k <= q)))), (n_q, n_k))\n");
    CHECK(mask_program(Mask::causal(2), 0, 3, 3, MaskProgram::torch) ==
          "# True where a query may look at a key: causal(2)\n"
          "import torch\n"
          "\n"
          "n_q, n_k = 3, 3\n"
          "q, k = torch.arange(n_q)[:, None], torch.arange(n_k)[None, :]\n"
          "allowed = ((k <= q + 2)).expand(n_q, n_k)\n");
    CHECK(mask_program(Mask::same_document({7, 7, 9}, {7, 9}), 0, 4, 2, MaskProgram::jax) ==
          "# True where a query may look at a key: same_document([7,7,9],[7,9])\n"
          "import jax.numpy as jnp\n"
          "\n"
          "n_q, n_k = 4, 2\n"
          "q, k = jnp.arange(n_q)[:, None], jnp.arange(n_k)[None, :]\n"
          "document_of_query_1 = jnp.array([0] * 2 + [1] + [-1])\n"
          "document_of_key_2 = jnp.array([0] + [1])\n"
          "allowed = jnp.broadcast_to((document_of_query_1[q] == document_of_key_2[k]), (n_q, n_k))\n");
    CHECK(mask_program(Mask::block_sparse(2, 1, 2, {1, 0}), 0, 4, 4, MaskProgram::flex_attention) ==
          "# True where a query may look at a key: block_sparse(2,1,2,8)\n"
          "import torch\n"
          "from torch.nn.attention.flex_attention import create_block_mask\n"
          "\n"
          "device = \"cuda\" if torch.cuda.is_available() else \"cpu\"\n"
          "\n"
          "n_q, n_k = 4, 4\n"
          "blocks_1 = torch.tensor([[c == \"1\" for c in row] for row in [\"10\"]], device=device)\n"
          "\n"
          "\n"
          "def mask_mod(b, h, q_idx, kv_idx):\n"
          "    return (blocks_1[(q_idx // 2) % 1, kv_idx // 2] & (q_idx // 2 < 1))\n"
          "\n"
          "\n"
          "block_mask = create_block_mask(mask_mod, B=None, H=None, Q_LEN=n_q, KV_LEN=n_k, device=device)\n");
}

#ifndef __EMSCRIPTEN__

namespace {

bool runs(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

// Finds the first Python that has the library: the system's, or another one on the path.
std::optional<std::string> python_with(const std::string& library) {
    for (const char* python : {"/usr/bin/python3", "python3"})
        if (runs(python + (" -c 'import " + library + "'"))) return python;
    return std::nullopt;
}

// Runs the programs of many masks in one Python process, and compares each result with the mask, cell by
// cell.
void check_programs(MaskProgram form, const char* library, const std::string& as_list) {
    const auto python = python_with(library);
    if (!python && form == MaskProgram::numpy && std::filesystem::exists("/etc/debian_version"))
        FAIL("NumPy is missing; tools/test installs Debian's python3-numpy");
    if (!python) SKIP(std::string(library) + " is not installed for python3");
    struct Case {
        TwoWays both;
        Index head, n_q, n_k;
    };
    std::vector<Case> cases;
    Random random(6);
    for (int i = 0; i < 120; ++i) {
        const auto size = [&] { return 1 + static_cast<Index>(random.below(24)); };
        cases.push_back({random_mask(random, 16, 2), 0, size(), size()});
    }
    cases.push_back(
        {{Mask::painted({2, 1, 2, {1, 0, 0, 1}}), [](Index, Index k) { return k == 1; }}, 1, 3, 3});
    cases.push_back({{Mask::painted({2, 1, 2, {1, 0, 0, 1}}), [](Index, Index) { return false; }}, 2, 3, 3});
    std::string text;
    for (const Case& c : cases)
        text += mask_program(c.both.mask, c.head, c.n_q, c.n_k, form) +
                "print(\"\".join(\"01\"[int(c)] for c in " + as_list + "))\n\n";
    const auto file =
        std::filesystem::temp_directory_path() / ("attn-masks-" + std::to_string(getpid()) + library + ".py");
    std::ofstream(file) << text;
    std::FILE* pipe = popen((*python + " " + file.string()).c_str(), "r");
    REQUIRE(pipe);
    std::vector<char> line(1 << 16);
    for (const Case& c : cases) {
        INFO(mask_program(c.both.mask, c.head, c.n_q, c.n_k, form));
        REQUIRE(std::fgets(line.data(), static_cast<int>(line.size()), pipe));
        std::string cells;
        for (Index q = 0; q < c.n_q; ++q)
            for (Index k = 0; k < c.n_k; ++k) cells += c.both.allows(q, k) ? '1' : '0';
        REQUIRE(std::string(line.data()) == cells + "\n");
    }
    CHECK(pclose(pipe) == 0);
    std::filesystem::remove(file);
}

}  // namespace

TEST_CASE("the NumPy text gives the mask", "[unit][mask]") {
    check_programs(MaskProgram::numpy, "numpy", "allowed.reshape(-1)");
}
TEST_CASE("the PyTorch text gives the mask", "[unit][mask]") {
    check_programs(MaskProgram::torch, "torch", "allowed.reshape(-1).tolist()");
}
TEST_CASE("the FlexAttention text gives the mask", "[unit][mask]") {
    check_programs(MaskProgram::flex_attention, "torch.nn.attention.flex_attention",
                   "mask_mod(0, 0, torch.arange(n_q, device=device)[:, None], torch.arange(n_k, "
                   "device=device)[None, :]).expand(n_q, n_k).reshape(-1).tolist()");
}
TEST_CASE("the JAX text gives the mask", "[unit][mask]") {
    check_programs(MaskProgram::jax, "jax", "allowed.reshape(-1).tolist()");
}

#endif
