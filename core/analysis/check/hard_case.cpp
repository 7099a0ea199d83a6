#include "analysis/check/hard_case.hpp"

#include <array>
#include <span>

#include "io/npy.hpp"
#include "io/zip_writer.hpp"
#include "tensor/random.hpp"

namespace attn {

namespace {

std::vector<float> normals(Random& random, Index count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& x : values) x = static_cast<float>(random.normal());
    return values;
}

}  // namespace

std::vector<std::byte> hard_case(std::uint32_t seed) {
    constexpr Index batch = 2, heads = 4, kv_heads = 2, queries = 29, keys = 137, width = 63;
    constexpr Index padding = 9;       // keys of the second text
    constexpr Index empty_query = 11;  // sees no key
    constexpr float large = 6;         // factor of the first queries' scores
    Random random(seed);
    std::vector<float> q = normals(random, batch * heads * queries * width);
    for (Index b = 0; b < batch; ++b)
        for (Index h = 0; h < heads; ++h)
            for (Index at = 0; at < 4 * width; ++at)
                q[static_cast<std::size_t>((b * heads + h) * queries * width + at)] *= large;
    const std::vector<float> k = normals(random, batch * kv_heads * keys * width),
                             v = normals(random, batch * kv_heads * keys * width);
    std::vector<std::int32_t> mask;
    for (Index b = 0; b < batch; ++b)
        for (Index i = 0; i < queries; ++i)
            for (Index j = 0; j < keys; ++j)
                mask.push_back(j <= i + keys - queries && (b == 0 || j >= padding) && i != empty_query);
    const std::array<std::int32_t, 1> h{heads}, kv{kv_heads};
    const std::array files{
        std::pair{"q.npy", write_npy({batch, heads, queries, width}, q)},
        std::pair{"k.npy", write_npy({batch, kv_heads, keys, width}, k)},
        std::pair{"v.npy", write_npy({batch, kv_heads, keys, width}, v)},
        std::pair{"mask.npy", write_npy({batch, 1, queries, keys}, mask)},
        std::pair{"heads.npy", write_npy({}, h)},
        std::pair{"kv_heads.npy", write_npy({}, kv)},
    };
    std::vector<ZipFile> entries;
    for (const auto& [path, bytes] : files) entries.push_back({path, bytes});
    return write_zip(entries);
}

std::string hard_case_script() {
    return R"(import numpy as np
case = dict(np.load("case.npz"))
q, k, v = case["q"], case["k"], case["v"]  # [2, 4, 29, 63], [2, 2, 137, 63] twice
mask = case["mask"].astype(bool)           # [2, 1, 29, 137], True: may attend
# With PyTorch: q, k, v, mask = map(torch.from_numpy, (q, k, v, mask))
output = your_attention(q, k, v, mask)     # [2, 4, 29, 63] or [2, 29, 4 * 63]
case["output"] = np.asarray(output)
np.savez("checked.npz", **case)
# Drop checked.npz here, or run: attn check checked.npz
)";
}

}  // namespace attn
