#include "io/unzip.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "io/quote.hpp"
#include "tensor/little_endian.hpp"

namespace attn {

namespace {

constexpr std::size_t local_bytes = 30, central_bytes = 46, end_bytes = 22, end64_bytes = 56,
                      locator_bytes = 20;
constexpr std::uint32_t local_mark = 0x04034b50, central_mark = 0x02014b50, end_mark = 0x06054b50,
                        end64_mark = 0x06064b50, locator_mark = 0x07064b50;
constexpr std::uint64_t saturated = 0xffffffff;
constexpr std::uint64_t most_inflation = 1032;  // two bits, a length and a distance, make 258 bytes
constexpr std::uint64_t most_entries = std::uint64_t{1} << 16;
constexpr std::size_t bytes_a_step = std::size_t{1} << 19;

Error bad_zip(std::string what) { return Error{"this zip archive " + std::move(what)}; }
Error bad_zip(const ZipEntry& entry, std::string what) {
    return bad_zip("has entry " + quote(entry.name) + " " + std::move(what));
}

Error no_memory(const ZipEntry& entry) {
    return bad_zip(entry, "of " + std::to_string(entry.size) + " bytes, for which there is no memory left");
}

// Reads an archive's little-endian numbers. The caller has checked that they lie within it.
class ArchiveBytes {
  public:
    explicit ArchiveBytes(std::span<const std::byte> bytes) : bytes_(bytes) {}

    std::uint64_t u16(std::size_t at) const { return little_endian_at<std::uint16_t>(&bytes_[at]); }
    std::uint64_t u32(std::size_t at) const { return little_endian_at<std::uint32_t>(&bytes_[at]); }
    std::uint64_t u64(std::size_t at) const { return little_endian_at<std::uint64_t>(&bytes_[at]); }
    std::string_view text(std::size_t at, std::size_t size) const {
        return {reinterpret_cast<const char*>(bytes_.data()) + at, size};
    }

  private:
    std::span<const std::byte> bytes_;
};

// For each of these fields that is saturated, extra field 1 holds a zip64 field, in this order. Returns
// false if one is missing.
bool widen_from_extra(const ArchiveBytes& file, std::size_t at, std::size_t size,
                      std::initializer_list<std::uint64_t*> fields) {
    if (std::ranges::none_of(fields, [](const std::uint64_t* f) { return *f == saturated; })) return true;
    for (const std::size_t end = at + size; at + 4 <= end;) {
        const std::uint64_t id = file.u16(at), length = file.u16(at + 2);
        at += 4;
        if (length > end - at) return false;
        if (id == 1) {
            const std::size_t field_end = at + static_cast<std::size_t>(length);
            for (std::uint64_t* field : fields) {
                if (*field != saturated) continue;
                if (field_end - at < 8) return false;
                *field = file.u64(at);
                at += 8;
            }
            return true;
        }
        at += static_cast<std::size_t>(length);
    }
    return false;
}

struct Directory {
    std::size_t begin = 0, end = 0;  // in the archive
    std::uint64_t entries = 0;
};

Result<Directory> find_directory(const ArchiveBytes& file, std::size_t size) {
    constexpr std::size_t longest_comment = 0xffff;
    std::optional<std::size_t> end;
    for (std::size_t back = end_bytes; !end && back <= std::min(size, end_bytes + longest_comment); ++back)
        if (file.u32(size - back) == end_mark && file.u16(size - back + 20) == back - end_bytes)
            end = size - back;
    if (!end) return bad_zip("has no directory at its end; it is cut short");

    Directory directory;
    directory.end = *end;
    directory.entries = file.u16(*end + 10);
    std::uint64_t bytes = file.u32(*end + 12), begin = file.u32(*end + 16);
    bool parts = file.u16(*end + 4) != file.u16(*end + 6) || file.u16(*end + 8) != directory.entries;
    if (*end >= locator_bytes && file.u32(*end - locator_bytes) == locator_mark) {
        const std::size_t locator = *end - locator_bytes;
        const std::uint64_t end64 = file.u64(locator + 8);
        // Its second field is the number of bytes behind that field.
        if (locator < end64_bytes || end64 > locator - end64_bytes ||
            file.u32(static_cast<std::size_t>(end64)) != end64_mark ||
            file.u64(static_cast<std::size_t>(end64) + 4) != locator - end64 - 12)
            return bad_zip("says that its zip64 directory ends at byte " + std::to_string(end64) +
                           ", where none ends");
        directory.end = static_cast<std::size_t>(end64);
        directory.entries = file.u64(directory.end + 32);
        bytes = file.u64(directory.end + 40);
        begin = file.u64(directory.end + 48);
        parts = file.u32(directory.end + 16) != file.u32(directory.end + 20) ||
                file.u64(directory.end + 24) != directory.entries;
    }
    if (parts) return bad_zip("is one part of several; join them first");
    if (begin > directory.end || bytes != directory.end - begin)
        return bad_zip("says that its directory has " + std::to_string(bytes) + " bytes from byte " +
                       std::to_string(begin) + ", but it ends at byte " + std::to_string(directory.end));
    if (directory.entries > bytes / central_bytes)
        return bad_zip("says that it has " + std::to_string(directory.entries) +
                       " entries, more than fit into the " + std::to_string(bytes) +
                       " bytes of its directory");
    if (directory.entries > most_entries)
        return bad_zip("has " + std::to_string(directory.entries) + " entries; at most " +
                       std::to_string(most_entries) + " can be read here");
    directory.begin = static_cast<std::size_t>(begin);
    return directory;
}

struct Method {
    std::uint64_t id;
    std::string_view name;
};
constexpr std::array other_methods{Method{9, "Deflate64"}, Method{12, "bzip2"}, Method{14, "LZMA"},
                                   Method{93, "Zstandard"}, Method{95, "xz"}};

// Holds what the directory says of an entry.
struct Listed {
    ZipEntry entry;
    std::uint64_t method = 0, packed_size = 0;
    std::uint64_t begin = 0, end = 0;  // where its local header begins, and its data ends
};

// Reads the directory's entry at `at`, and moves `at` behind it.
Result<Listed> read_listed(const ArchiveBytes& file, std::size_t& at, std::size_t directory_end) {
    const auto outside = [&] {
        return bad_zip("has a directory that breaks off at byte " + std::to_string(at));
    };
    if (directory_end - at < central_bytes || file.u32(at) != central_mark) return outside();
    const auto name_size = static_cast<std::size_t>(file.u16(at + 28)),
               extra_size = static_cast<std::size_t>(file.u16(at + 30)),
               comment_size = static_cast<std::size_t>(file.u16(at + 32));
    if (directory_end - at - central_bytes < name_size + extra_size + comment_size) return outside();

    Listed listed;
    listed.entry.name = file.text(at + central_bytes, name_size);
    listed.method = file.u16(at + 10);
    listed.entry.crc = static_cast<std::uint32_t>(file.u32(at + 16));
    listed.packed_size = file.u32(at + 20);
    listed.entry.size = file.u32(at + 24);
    listed.begin = file.u32(at + 42);
    const std::uint64_t flags = file.u16(at + 8);
    const auto wrong = [&](std::string what) { return bad_zip(listed.entry, std::move(what)); };
    if (!widen_from_extra(file, at + central_bytes + name_size, extra_size,
                          {&listed.entry.size, &listed.packed_size, &listed.begin}))
        return wrong("whose zip64 sizes are missing");
    if (flags & 0x2041) return wrong("that is encrypted; save it without a password");
    if (listed.method != 0 && listed.method != 8) {
        const auto* known = std::ranges::find(other_methods, listed.method, &Method::id);
        return wrong("packed by " +
                     (known != other_methods.end() ? std::string(known->name)
                                                   : "method " + std::to_string(listed.method)) +
                     "; only stored and deflated entries can be read");
    }
    listed.entry.deflated = listed.method == 8;
    at += central_bytes + name_size + extra_size + comment_size;
    return listed;
}

// Finds the entry's data behind its local header, which must agree with the directory.
Status read_local(const ArchiveBytes& file, std::span<const std::byte> archive, std::size_t directory_begin,
                  Listed& listed) {
    const auto wrong = [&](std::string what) { return bad_zip(listed.entry, std::move(what)); };
    const auto size = std::to_string(listed.entry.size);
    if (listed.begin > directory_begin || directory_begin - listed.begin < local_bytes ||
        file.u32(static_cast<std::size_t>(listed.begin)) != local_mark)
        return wrong("said to begin at byte " + std::to_string(listed.begin) + ", where none begins");
    const auto begin = static_cast<std::size_t>(listed.begin);
    const auto name_size = static_cast<std::size_t>(file.u16(begin + 26)),
               extra_size = static_cast<std::size_t>(file.u16(begin + 28));
    if (directory_begin - begin - local_bytes < name_size + extra_size)
        return wrong("whose header runs into the directory");
    if (file.text(begin + local_bytes, name_size) != listed.entry.name)
        return wrong("that is called " + quote(file.text(begin + local_bytes, name_size)) + " where it lies");

    std::uint64_t packed = file.u32(begin + 18), unpacked = file.u32(begin + 22);
    if (!widen_from_extra(file, begin + local_bytes + name_size, extra_size, {&unpacked, &packed}))
        return wrong("whose zip64 sizes are missing");
    const bool sizes_follow = file.u16(begin + 6) & 8;  // they are in a record behind the data
    if (file.u16(begin + 8) != listed.method ||
        (!sizes_follow && (packed != listed.packed_size || unpacked != listed.entry.size ||
                           file.u32(begin + 14) != listed.entry.crc)))
        return wrong("of which its header and the directory say different things");

    const std::size_t data = begin + local_bytes + name_size + extra_size;
    if (listed.packed_size > directory_begin - data)
        return wrong("said to have " + std::to_string(listed.packed_size) + " bytes, but only " +
                     std::to_string(directory_begin - data) + " follow its header");
    if (!listed.entry.deflated && listed.packed_size != listed.entry.size)
        return wrong("stored in " + std::to_string(listed.packed_size) + " bytes that are said to be " +
                     size);
    if (listed.entry.deflated && listed.entry.size > unpacked_limit)
        return wrong("that unpacks to " + size + " bytes; at most " + std::to_string(unpacked_limit) +
                     " can be unpacked here, so save it uncompressed (numpy.savez)");
    if (listed.entry.deflated && listed.entry.size > most_inflation * listed.packed_size)
        return wrong("said to unpack from " + std::to_string(listed.packed_size) + " bytes to " + size +
                     ", more than deflate can make of them");
    listed.entry.packed = archive.subspan(data, static_cast<std::size_t>(listed.packed_size));
    listed.end = data + listed.packed_size;
    return ok();
}

Status check_layout(const std::vector<Listed>& all) {
    std::vector<const Listed*> order;
    order.reserve(all.size());
    for (const Listed& listed : all) order.push_back(&listed);
    std::ranges::sort(order, {}, [](const Listed* l) { return l->begin; });
    for (std::size_t i = 1; i < order.size(); ++i)
        if (order[i]->begin < order[i - 1]->end)
            return bad_zip("has entries " + quote(order[i - 1]->entry.name) + " and " +
                           quote(order[i]->entry.name) + " that overlap");
    return ok();
}

std::string hex(std::uint32_t value) {
    std::string text(8, '0');
    for (std::size_t i = 8; i-- > 0; value >>= 4) text[i] = "0123456789abcdef"[value & 15];
    return text;
}

void end_stream(z_stream_s* stream) {
    if (!stream) return;
    inflateEnd(stream);
    delete stream;
}

}  // namespace

Result<std::vector<ZipEntry>> parse_zip(std::span<const std::byte> archive) {
    const ArchiveBytes file(archive);
    if (archive.size() < end_bytes || (file.u32(0) != local_mark && file.u32(0) != end_mark))
        return Error{"this is not a zip archive: it does not begin with PK\\x03\\x04"};
    const auto directory = find_directory(file, archive.size());
    if (!directory) return directory.error();

    std::vector<Listed> all;
    std::set<std::string_view> names;
    all.reserve(static_cast<std::size_t>(directory->entries));  // also keeps the names in place
    std::size_t at = directory->begin;
    for (std::uint64_t i = 0; i < directory->entries; ++i) {
        auto listed = read_listed(file, at, directory->end);
        if (!listed) return listed.error();
        if (Status status = read_local(file, archive, directory->begin, *listed); !status)
            return status.error();
        all.push_back(*std::move(listed));
        if (!names.insert(all.back().entry.name).second)
            return bad_zip("has entry " + quote(all.back().entry.name) + " twice");
    }
    if (at != directory->end)
        return bad_zip("says that it has " + std::to_string(directory->entries) +
                       " entries, but its directory goes on");
    if (Status status = check_layout(all); !status) return status.error();

    std::vector<ZipEntry> entries;
    for (Listed& listed : all)
        if (!listed.entry.name.ends_with('/')) entries.push_back(std::move(listed.entry));
    return entries;
}

Unpacking::Unpacking(ZipEntry entry) : entry_(std::move(entry)), stream_(nullptr, end_stream) {}
Unpacking::Unpacking(Unpacking&&) noexcept = default;
Unpacking& Unpacking::operator=(Unpacking&&) noexcept = default;
Unpacking::~Unpacking() = default;

Status Unpacking::begin() {
    stream_.reset(new z_stream_s{});
    return inflateInit2(stream_.get(), -MAX_WBITS) == Z_OK ? ok() : no_memory(entry_);
}

Status Unpacking::inflate_some(std::span<std::byte> out) {
    constexpr std::size_t most_input = std::size_t{1} << 30;  // zlib counts in 32 bits
    stream_->next_out = reinterpret_cast<Bytef*>(out.data());
    stream_->avail_out = static_cast<uInt>(out.size());
    while (stream_->avail_out > 0 && !stream_ended_) {
        const auto input = entry_.packed.subspan(taken_, std::min(entry_.packed.size() - taken_, most_input));
        stream_->next_in = reinterpret_cast<const Bytef*>(input.data());
        stream_->avail_in = static_cast<uInt>(input.size());
        const int code = inflate(stream_.get(), Z_NO_FLUSH);
        taken_ += input.size() - stream_->avail_in;
        stream_ended_ = code == Z_STREAM_END;
        if (code == Z_MEM_ERROR) return no_memory(entry_);
        if (code == Z_BUF_ERROR) return bad_zip(entry_, "whose deflate data break off");
        if (code != Z_OK && code != Z_STREAM_END)
            return bad_zip(entry_, "whose deflate data are broken near byte " + std::to_string(taken_) +
                                       ": " + (stream_->msg ? stream_->msg : "they need a dictionary"));
    }
    if (stream_->avail_out > 0)
        return bad_zip(entry_, "that unpacks to " + std::to_string(made_ + out.size() - stream_->avail_out) +
                                   " bytes where " + std::to_string(entry_.size) + " are announced");
    return ok();
}

Status Unpacking::check_end() {
    if (entry_.deflated) {
        std::array<std::byte, 1> one;
        Status more = stream_ended_ ? Error{} : inflate_some(one);
        if (more)
            return bad_zip(
                entry_, "that unpacks to more than the " + std::to_string(entry_.size) + " bytes announced");
        if (!stream_ended_) return more;
        if (taken_ != entry_.packed.size())
            return bad_zip(entry_, "with " + std::to_string(entry_.packed.size() - taken_) +
                                       " bytes behind its deflate data");
    }
    if (crc_ != entry_.crc)
        return bad_zip(entry_, "that is damaged: its CRC-32 is " + hex(crc_) + " where the archive says " +
                                   hex(entry_.crc));
    return ok();
}

Status Unpacking::advance() {
    const auto size = static_cast<std::size_t>(entry_.size);
    if (entry_.deflated && !room_) {
        room_.reset(static_cast<std::byte*>(std::malloc(std::max<std::size_t>(size, 1))));
        if (!room_) return no_memory(entry_);
        if (Status status = begin(); !status) return status;
    }
    const std::size_t count = std::min(size - made_, bytes_a_step);
    std::span<const std::byte> piece;
    if (entry_.deflated) {
        const std::span<std::byte> out(room_.get() + made_, count);
        if (Status status = inflate_some(out); !status) return status;
        piece = out;
    } else {
        piece = entry_.packed.subspan(made_, count);
    }
    crc_ =
        static_cast<std::uint32_t>(crc32_z(crc_, reinterpret_cast<const Bytef*>(piece.data()), piece.size()));
    made_ += count;
    return made_ == size ? check_end() : ok();
}

bool Unpacking::step() {
    if (done_) return false;
    status_ = advance();
    done_ = !status_ || made_ == entry_.size;
    return !done_;
}

float Unpacking::progress() const {
    return entry_.size == 0 ? 1 : static_cast<float>(made_) / static_cast<float>(entry_.size);
}

Result<UnpackedEntry> Unpacking::finish() {
    while (step()) {
    }
    if (!status_) return status_.error();
    if (!entry_.deflated) return UnpackedEntry{entry_.packed, nullptr};
    const std::span<const std::byte> bytes(room_.get(), made_);
    return UnpackedEntry{bytes, std::move(room_)};
}

Result<std::vector<std::byte>> unpack_start(const ZipEntry& entry, std::size_t count) {
    std::vector<std::byte> start(static_cast<std::size_t>(std::min<std::uint64_t>(count, entry.size)));
    if (!entry.deflated) {
        std::ranges::copy(entry.packed.first(start.size()), start.begin());
        return start;
    }
    Unpacking unpacking(entry);
    if (Status status = unpacking.begin(); !status) return status.error();
    if (Status status = unpacking.inflate_some(start); !status) return status.error();
    return start;
}

}  // namespace attn
