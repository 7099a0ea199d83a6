#include "io/deflate.hpp"

#include <zlib.h>

namespace attn {

namespace {

constexpr int best = 9, no_header = -MAX_WBITS, usual_memory = 8;

const Bytef* in(std::string_view bytes) { return reinterpret_cast<const Bytef*>(bytes.data()); }
Bytef* out(std::string& bytes) { return reinterpret_cast<Bytef*>(bytes.data()); }

}  // namespace

std::string deflated(std::string_view bytes) {
    z_stream z{};
    if (deflateInit2(&z, best, Z_DEFLATED, no_header, usual_memory, Z_DEFAULT_STRATEGY) != Z_OK) return "";
    std::string packed(deflateBound(&z, static_cast<uLong>(bytes.size())), '\0');
    z.next_in = in(bytes);
    z.avail_in = static_cast<uInt>(bytes.size());
    z.next_out = out(packed);
    z.avail_out = static_cast<uInt>(packed.size());
    deflate(&z, Z_FINISH);
    packed.resize(z.total_out);
    deflateEnd(&z);
    return packed;
}

std::optional<std::string> inflated(std::string_view packed, std::size_t most) {
    z_stream z{};
    if (inflateInit2(&z, no_header) != Z_OK) return std::nullopt;
    std::string bytes(most, '\0');
    z.next_in = in(packed);
    z.avail_in = static_cast<uInt>(packed.size());
    z.next_out = out(bytes);
    z.avail_out = static_cast<uInt>(bytes.size());
    const bool whole = inflate(&z, Z_FINISH) == Z_STREAM_END && z.avail_in == 0;
    bytes.resize(z.total_out);
    inflateEnd(&z);
    return whole ? std::optional(std::move(bytes)) : std::nullopt;
}

}  // namespace attn
