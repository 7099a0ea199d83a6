#include "io/unzip.hpp"

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "support/files.hpp"

using namespace attn;
using attn::test::as_bytes;
using attn::test::read_file;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string zip_golden(const std::string& name) {
    const auto bytes = read_file(test::source_dir() / "tests/golden/io/npz" / (name + ".npz"));
    REQUIRE(!bytes.empty());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string zip_refusal(const std::string& archive) {
    const auto entries = parse_zip(as_bytes(archive));
    REQUIRE(!entries);
    return entries.error().message;
}

// Returns the error of unpacking the only entry of an archive.
std::string complaint(const std::string& archive) {
    const auto entries = parse_zip(as_bytes(archive));
    REQUIRE(entries);
    auto unpacked = Unpacking(entries->front()).finish();
    REQUIRE(!unpacked);
    return unpacked.error().message;
}

// Returns the bytes of all entries, unpacked.
std::vector<std::string> contents(const std::string& archive) {
    const auto entries = parse_zip(as_bytes(archive));
    REQUIRE(entries);
    std::vector<std::string> out;
    for (const ZipEntry& entry : *entries) {
        INFO(entry.name);
        auto unpacked = Unpacking(entry).finish();
        REQUIRE(unpacked);
        out.emplace_back(reinterpret_cast<const char*>(unpacked->bytes.data()), unpacked->bytes.size());
    }
    return out;
}

template <class T>
std::string patched(std::string archive, std::size_t at, T value) {
    std::memcpy(archive.data() + at, &value, sizeof value);
    return archive;
}

// Returns where the n-th record of a kind begins.
std::size_t record(const std::string& archive, const std::string& mark, int n = 0) {
    std::size_t at = archive.find(mark);
    while (n-- > 0) at = archive.find(mark, at + 1);
    REQUIRE(at != archive.npos);
    return at;
}
const std::string local("PK\3\4"), central("PK\1\2"), end_of("PK\5\6"), end64_of("PK\6\6"), locator("PK\6\7");

}  // namespace

TEST_CASE("stored entries are views into the archive", "[unzip][golden]") {
    const std::string archive = zip_golden("stored");
    const auto entries = parse_zip(as_bytes(archive));
    REQUIRE(entries);
    REQUIRE(entries->size() == 10);
    CHECK(entries->front().name == "q.npy");
    for (const ZipEntry& entry : *entries) {
        CHECK(!entry.deflated);
        auto unpacked = Unpacking(entry).finish();
        REQUIRE(unpacked);
        CHECK(!unpacked->room);
        CHECK(unpacked->bytes.data() == entry.packed.data());
        CHECK(unpacked->bytes.size() == entry.size);
        CHECK(entry.packed.data() > as_bytes(archive).data());
        CHECK(entry.packed.data() < as_bytes(archive).data() + archive.size());
    }
}

TEST_CASE("deflated entries unpack to what was stored", "[unzip][golden]") {
    const auto stored = contents(zip_golden("stored"));
    CHECK(contents(zip_golden("deflated")) == stored);
    const std::vector<std::string> first_two(stored.begin(), stored.begin() + 2);
    for (const std::string name : {"zip64_stored", "zip64_deflated", "descriptors"}) {
        INFO(name);
        CHECK(contents(zip_golden(name)) == first_two);
    }
}

TEST_CASE("stored, fixed and dynamic blocks unpack to the same", "[unzip][golden]") {
    const auto stored = contents(zip_golden("blocks_stored"));
    CHECK(stored.front().size() == 128 + 4 * 3000);
    CHECK(contents(zip_golden("blocks_fixed")) == stored);
    CHECK(contents(zip_golden("blocks_dynamic")) == stored);
}

TEST_CASE("unpacking in slices and only the start", "[unzip][golden]") {
    const std::string archive = zip_golden("blocks_dynamic");
    const auto entries = parse_zip(as_bytes(archive));
    const std::string whole = contents(archive).front();
    for (std::size_t count :
         {std::size_t{0}, std::size_t{1}, std::size_t{1000}, whole.size(), whole.size() + 1}) {
        const auto start = unpack_start(entries->front(), count);
        REQUIRE(start);
        CHECK(std::ranges::equal(*start, as_bytes(whole).first(std::min(count, whole.size()))));
    }

    // A slice takes half a megabyte.
    const std::string large(3 * (std::size_t{1} << 19) + 5, 'a');
    ZipEntry entry{"a", false, 0x87e31b4d, large.size(), as_bytes(large)};
    Unpacking unpacking(entry);
    int steps = 1;
    float progress = 0;
    while (unpacking.step()) {
        ++steps;
        CHECK(unpacking.progress() > progress);
        progress = unpacking.progress();
    }
    CHECK(steps == 4);
    CHECK(unpacking.progress() == 1);
}

TEST_CASE("folders, comments and files of other kinds", "[unzip][golden]") {
    const std::string archive = zip_golden("by_hand");
    const auto entries = parse_zip(as_bytes(archive));
    REQUIRE(entries);
    REQUIRE(entries->size() == 3);
    CHECK((*entries)[0].name == "layer0/q.npy");
    CHECK((*entries)[0].deflated);
    CHECK(contents(archive)[2] == "not an array");
}

TEST_CASE("an invalid or truncated archive", "[unzip]") {
    const std::string none = "this is not a zip archive: it does not begin with PK\\x03\\x04";
    CHECK(zip_refusal("") == none);
    CHECK(zip_refusal(std::string(100, 'x')) == none);
    CHECK(zip_refusal(std::string("\x93NUMPY\1\0", 8)) == none);
    const std::string whole = zip_golden("stored");
    for (std::size_t size = 0; size < whole.size(); ++size) CHECK(!parse_zip(as_bytes(whole).first(size)));
    CHECK(zip_refusal(whole.substr(0, whole.size() - 1)) ==
          "this zip archive has no directory at its end; it is cut short");
    CHECK(zip_refusal(whole.substr(0, 1000)) ==
          "this zip archive has no directory at its end; it is cut short");
    CHECK(zip_refusal(whole + "x") == "this zip archive has no directory at its end; it is cut short");
    CHECK_THAT(zip_refusal("PK\3\4" + whole), ContainsSubstring("says that its directory has"));
    const std::string empty = end_of + std::string(18, '\0');
    CHECK(parse_zip(as_bytes(empty))->empty());
}

TEST_CASE("unsupported features of other programs' archives are refused by name", "[unzip][golden]") {
    CHECK(zip_refusal(zip_golden("refused_bzip2")) ==
          "this zip archive has entry 'q.npy' packed by bzip2; only stored and deflated entries can be read");
    CHECK_THAT(zip_refusal(zip_golden("refused_lzma")), ContainsSubstring("packed by LZMA"));
    const std::string archive = zip_golden("stored");
    const std::size_t first = record(archive, central), end = record(archive, end_of);
    CHECK_THAT(zip_refusal(patched(archive, first + 10, std::uint16_t{77})),
               ContainsSubstring("packed by method 77"));
    CHECK(zip_refusal(patched(archive, first + 8, std::uint16_t{1})) ==
          "this zip archive has entry 'q.npy' that is encrypted; save it without a password");
    CHECK(zip_refusal(patched(archive, end + 4, std::uint16_t{1})) ==
          "this zip archive is one part of several; join them first");
    CHECK(zip_refusal(patched(archive, end + 8, std::uint16_t{3})) ==
          "this zip archive is one part of several; join them first");
}

TEST_CASE("a directory with wrong numbers", "[unzip]") {
    const std::string archive = zip_golden("stored");
    const std::size_t first = record(archive, central), second = record(archive, central, 1),
                      end = record(archive, end_of);
    const std::string size = std::to_string(end - first);
    // These patch the sizes and offsets of the directory.
    CHECK(zip_refusal(patched(archive, end + 12, std::uint32_t{1})) ==
          "this zip archive says that its directory has 1 bytes from byte " + std::to_string(first) +
              ", but it ends at byte " + std::to_string(end));
    CHECK_THAT(zip_refusal(patched(archive, end + 16, std::uint32_t{0xfffffff0})),
               ContainsSubstring("from byte 4294967280"));
    // The counts say more entries than fit in the bytes, more than there are, and fewer than there are.
    const auto counted = [&](std::uint16_t n) { return patched(patched(archive, end + 8, n), end + 10, n); };
    CHECK(zip_refusal(counted(60000)) ==
          "this zip archive says that it has 60000 entries, more than fit into the " + size +
              " bytes of its directory");
    CHECK_THAT(zip_refusal(counted(11)), ContainsSubstring("has a directory that breaks off at byte"));
    CHECK(zip_refusal(counted(9)) ==
          "this zip archive says that it has 9 entries, but its directory goes on");
    CHECK_THAT(zip_refusal(patched(archive, first + 28, std::uint16_t{0xffff})),
               ContainsSubstring("breaks off"));
    CHECK_THAT(zip_refusal(patched(archive, second, std::uint32_t{0})), ContainsSubstring("breaks off"));
    // Two entries get the same name.
    std::string twice = archive;
    for (const std::size_t at : {record(archive, central, 7) + 46, record(archive, local, 7) + 30}) {
        REQUIRE(twice.substr(at, 8) == "mask.npy");
        twice.replace(at, 8, "half.npy");
    }
    CHECK(zip_refusal(twice) == "this zip archive has entry 'half.npy' twice");
}

TEST_CASE("an entry with wrong numbers", "[unzip]") {
    const std::string archive = zip_golden("stored");
    const std::size_t first = record(archive, central), second = record(archive, central, 1);
    const std::size_t header = record(archive, local), next = record(archive, local, 1);
    const std::string entry = "this zip archive has entry 'q.npy' ";
    const auto offset = [&](std::uint32_t at) { return patched(archive, first + 42, at); };
    CHECK(zip_refusal(offset(7)) == entry + "said to begin at byte 7, where none begins");
    CHECK(zip_refusal(offset(0x7fffffff)) == entry + "said to begin at byte 2147483647, where none begins");
    CHECK(zip_refusal(offset(static_cast<std::uint32_t>(first))) ==
          entry + "said to begin at byte " + std::to_string(first) + ", where none begins");
    CHECK(zip_refusal(offset(static_cast<std::uint32_t>(next))) ==
          entry + "that is called 'half.npy' where it lies");
    CHECK(zip_refusal(offset(0xffffffff)) == entry + "whose zip64 sizes are missing");
    CHECK_THAT(zip_refusal(patched(archive, header + 28, std::uint16_t{0xffff})),
               ContainsSubstring("header runs into the directory"));
    // The directory and the local header disagree on size, packed size, method or CRC-32.
    const std::string differ = entry + "of which its header and the directory say different things";
    CHECK(zip_refusal(patched(archive, first + 24, std::uint32_t{100})) == differ);
    CHECK(zip_refusal(patched(archive, first + 20, std::uint32_t{100})) == differ);
    CHECK(zip_refusal(patched(archive, first + 16, std::uint32_t{100})) == differ);
    CHECK(zip_refusal(patched(archive, first + 10, std::uint16_t{8})) == differ);

    // If the header leaves the sizes to a record behind the data, only the directory counts.
    const auto later = [&](std::uint32_t packed, std::uint32_t size) {
        return patched(patched(patched(archive, header + 6, std::uint16_t{8}), first + 20, packed),
                       first + 24, size);
    };
    CHECK_THAT(zip_refusal(later(0x7fffffff, 0x7fffffff)),
               ContainsSubstring("said to have 2147483647 bytes, but only "));
    CHECK(zip_refusal(later(224, 225)) == entry + "stored in 224 bytes that are said to be 225");
    CHECK(zip_refusal(later(300, 300)) == "this zip archive has entries 'q.npy' and 'half.npy' that overlap");

    // All entries share the same bytes, as in Fifield's bomb.
    CHECK(zip_refusal(patched(archive, second + 42, std::uint32_t{0})) ==
          "this zip archive has entry 'half.npy' that is called 'q.npy' where it lies");
}

TEST_CASE("a zip64 directory with wrong numbers", "[unzip]") {
    const std::string archive = zip_golden("zip64_stored");
    const std::size_t end64 = record(archive, end64_of), place = record(archive, locator),
                      first = record(archive, central);
    CHECK_THAT(zip_refusal(patched(archive, place + 8, std::uint64_t{0} - 1)),
               ContainsSubstring("says that its zip64 directory ends at byte 18446744073709551615"));
    CHECK_THAT(zip_refusal(patched(archive, place + 8, std::uint64_t{1})),
               ContainsSubstring("where none ends"));
    CHECK_THAT(zip_refusal(patched(archive, end64 + 4, std::uint64_t{0} - 12)),
               ContainsSubstring("where none ends"));
    CHECK_THAT(zip_refusal(patched(archive, end64 + 40, std::uint64_t{0} - 1)),
               ContainsSubstring("directory has 18446744073709551615 bytes"));
    CHECK_THAT(zip_refusal(patched(archive, end64 + 48, std::uint64_t{0} - 1)),
               ContainsSubstring("from byte 18446744073709551615"));
    const auto counted = [&](std::uint64_t n) {
        return patched(patched(archive, end64 + 24, n), end64 + 32, n);
    };
    CHECK_THAT(zip_refusal(counted(std::uint64_t{1} << 60)), ContainsSubstring("more than fit"));
    // The first entry's extra field: its id, and its first number, the size.
    const std::size_t extra = first + 46 + 5;
    CHECK_THAT(zip_refusal(patched(archive, extra, std::uint16_t{9})),
               ContainsSubstring("zip64 sizes are missing"));
    CHECK_THAT(zip_refusal(patched(archive, extra + 2, std::uint16_t{4})),
               ContainsSubstring("zip64 sizes are missing"));
    CHECK_THAT(zip_refusal(patched(archive, extra + 4, std::uint64_t{1} << 63)),
               ContainsSubstring("different things"));
}

TEST_CASE("data that cannot be unpacked", "[unzip][golden]") {
    const std::string entry = "this zip archive has entry 'q.npy' ";
    CHECK(complaint(zip_golden("lie_crc")) ==
          entry + "that is damaged: its CRC-32 is 18ac1953 where the archive says 00000001");
    CHECK(complaint(zip_golden("lie_stored_crc")) ==
          entry + "that is damaged: its CRC-32 is 18ac1953 where the archive says 00000001");
    CHECK(complaint(zip_golden("lie_too_short")) ==
          entry + "that unpacks to more than the 12127 bytes announced");
    CHECK(complaint(zip_golden("lie_too_long")) ==
          entry + "that unpacks to 12128 bytes where 12129 are announced");
    CHECK(complaint(zip_golden("lie_breaks_off")) == entry + "whose deflate data break off");
    CHECK(complaint(zip_golden("lie_goes_on")) == entry + "with 3 bytes behind its deflate data");
    CHECK_THAT(complaint(zip_golden("lie_broken")),
               ContainsSubstring("whose deflate data are broken near byte"));
    CHECK_THAT(zip_refusal(zip_golden("lie_bomb")), ContainsSubstring("more than deflate can make of them"));
    const std::string archive = zip_golden("blocks_fixed");
    const auto sized = [&](std::uint32_t size) {
        return patched(patched(archive, 22, size), record(archive, central) + 24, size);
    };
    CHECK(zip_refusal(sized(0x40000001)) ==
          entry +
              "that unpacks to 1073741825 bytes; at most 1073741824 can be unpacked here, so save it "
              "uncompressed (numpy.savez)");
    CHECK(!unpack_start(parse_zip(as_bytes(zip_golden("lie_broken")))->front(), 12128));
}
