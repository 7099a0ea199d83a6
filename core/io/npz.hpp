// NumPy's archive of arrays, .npz: a zip archive of .npy files, as numpy.savez and numpy.savez_compressed write it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "io/npy.hpp"
#include "io/unzip.hpp"

namespace attn {

struct NpzArray {
    std::string name;  // without .npy
    ZipEntry entry;
    Result<NpyHeader> header;  // an error where this array cannot be read; others may
};

// In the archive's order; entries that are no .npy files are left out.
Result<std::vector<NpzArray>> parse_npz(std::span<const std::byte> file);

}  // namespace attn
