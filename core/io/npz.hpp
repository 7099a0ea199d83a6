// Reads NumPy's archives of arrays, .npz: zip archives of .npy files, as numpy.savez and
// numpy.savez_compressed write them.
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
    Result<NpyHeader> header;  // an error if this array cannot be read; others may still be readable
};

// The arrays are in the archive's order. Entries other than .npy files are left out.
Result<std::vector<NpzArray>> parse_npz(std::span<const std::byte> file);

}  // namespace attn
