#include "support/gguf_writer.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// A file with every kind of value and two tensors.
GgufWriter all_kinds() {
    GgufWriter out;
    out.text("general.architecture", "llama");
    out.number("a.u8", GgufType::u8, std::uint8_t{200});
    out.number("a.i8", GgufType::i8, std::int8_t{-3});
    out.number("a.u16", GgufType::u16, std::uint16_t{60'000});
    out.number("a.i16", GgufType::i16, std::int16_t{-300});
    out.number("a.u32", GgufType::u32, std::uint32_t{4'000'000'000});
    out.number("a.i32", GgufType::i32, std::int32_t{-70'000});
    out.number("a.f32", GgufType::f32, 0.5f);
    out.number("a.flag", GgufType::boolean, true);
    out.number("a.u64", GgufType::u64, std::uint64_t{1} << 63);
    out.number("a.i64", GgufType::i64, std::int64_t{-1} << 40);
    out.number("a.f64", GgufType::f64, 0.1);
    out.texts("a.texts", {"one", "", "three"});
    out.numbers<float>("a.numbers", GgufType::f32, {1, 2.5f, -3});
    out.texts("a.nothing", {});
    out.tensor("w", {2, 3}, {1, 2, 3, 4, 5, 6});
    const std::vector<std::byte> blocks(2 * 18);
    out.tensor("q", DType::q4_0, {2, 32}, blocks);
    return out;
}

std::string gguf_refusal(const Bytes& file) {
    const auto header = parse_gguf(file);
    REQUIRE(!header);
    return header.error().message;
}

void put_at(Bytes& bytes, std::size_t at, std::uint32_t value) {
    for (std::size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<std::byte>(value >> (8 * i));
}

}  // namespace

TEST_CASE("keys of a GGUF file have their types and values", "[gguf]") {
    for (const std::uint32_t version : {2u, 3u}) {
        GgufWriter writer = all_kinds();
        writer.version = version;
        const Bytes file = writer.file();
        const auto header = parse_gguf(file);
        INFO((header ? "" : header.error().message));
        REQUIRE(header);
        CHECK(header->version == version);
        CHECK(header->keys.size() == 15);
        const auto value = [&](const char* key) {
            const GgufValue* found = header->find(key);
            REQUIRE(found);
            return *found;
        };
        CHECK(value("general.architecture").text() == "llama");
        CHECK(value("a.u8").integer() == 200);
        CHECK(value("a.i8").integer() == -3);
        CHECK(value("a.u16").integer() == 60'000);
        CHECK(value("a.i16").integer() == -300);
        CHECK(value("a.u32").integer() == 4'000'000'000);
        CHECK(value("a.i32").integer() == -70'000);
        CHECK(value("a.i64").integer() == std::int64_t{-1} << 40);
        CHECK(value("a.u64").integer() == std::nullopt);
        CHECK(value("a.f32").number() == 0.5);
        CHECK(value("a.f64").number() == 0.1);
        CHECK(value("a.i8").number() == -3);
        CHECK(value("a.flag").flag() == true);
        CHECK(value("a.flag").integer() == std::nullopt);
        CHECK(value("a.f32").text() == std::nullopt);
        const GgufTexts texts = value("a.texts").texts();
        CHECK(std::vector<std::string>(texts.begin(), texts.end()) ==
              std::vector<std::string>{"one", "", "three"});
        CHECK(texts.size() == 3);
        CHECK(value("a.texts").integer() == std::nullopt);
        CHECK(value("a.numbers").count == 3);
        CHECK(value("a.numbers").at(1).number() == 2.5);
        CHECK(value("a.numbers").texts().size() == 0);
        CHECK(value("a.nothing").texts().begin() == value("a.nothing").texts().end());
        CHECK(header->find("a.none") == nullptr);
    }
}

TEST_CASE("tensors of a GGUF file are described in row-major order, with their place", "[gguf]") {
    const Bytes file = all_kinds().file();
    const auto header = parse_gguf(file);
    REQUIRE(header);
    const GgufTensor* w = header->tensor("w");
    REQUIRE(w);
    CHECK(w->shape == Shape{2, 3});
    CHECK(w->dtype == DType::f32);
    CHECK(w->offset % 32 == 0);
    float last = 0;
    std::memcpy(&last, file.data() + w->offset + 20, sizeof last);
    CHECK(last == 6);
    const GgufTensor* q = header->tensor("q");
    REQUIRE(q);
    CHECK(q->dtype_name == "Q4_0");
    CHECK(q->bytes == 36);
    CHECK(header->tensor("p") == nullptr);
}

TEST_CASE("the header of a GGUF file is read from as little as it takes", "[gguf]") {
    const Bytes file = all_kinds().file();
    bool complete = false;
    for (std::size_t size = 0; size <= file.size(); ++size) {
        const auto header = parse_gguf_header(std::span(file).first(size), file.size());
        REQUIRE(header);
        if (complete) CHECK(header->has_value());
        complete = header->has_value();
        if (!complete) continue;
        CHECK((*header)->tensors.size() == 2);
        CHECK(size <= (*header)->data_offset);
        break;
    }
    CHECK(complete);
    // If the file itself ends there, it is truncated; only the padding of its last tensor may be missing.
    const auto whole = parse_gguf(file);
    REQUIRE(whole);
    const GgufTensor& last = *whole->tensor("q");
    for (std::size_t size = 0; size < last.offset + last.bytes; ++size)
        CHECK_THAT(gguf_refusal({file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size)}),
                   ContainsSubstring("cut short"));
}

TEST_CASE("unsupported tensor types are refused by name", "[gguf]") {
    for (const GgmlType& type : ggml_types) {
        if (type.dtype) continue;
        GgufWriter writer;
        writer.tensor("blk.0.ffn_down.weight", {1, 256}, std::vector<float>(256));
        Bytes file = writer.file();
        // The offset after the start, the name, the number of dimensions and two of them.
        put_at(file, 24 + 8 + 21 + 4 + 16, type.number);
        CHECK_THAT(gguf_refusal(file), ContainsSubstring("tensor 'blk.0.ffn_down.weight' of type " +
                                                         std::string(type.name) + ", which"));
    }
}

TEST_CASE("the files of a split model are named after the given one", "[gguf]") {
    GgufHeader header;
    CHECK(*gguf_shard_names("some/x.gguf", header) == std::vector<std::string>{"some/x.gguf"});
    header.shard = 1;
    header.shards = 3;
    CHECK(*gguf_shard_names("some/x-00002-of-00003.gguf", header) ==
          std::vector<std::string>{"some/x-00001-of-00003.gguf", "some/x-00002-of-00003.gguf",
                                   "some/x-00003-of-00003.gguf"});
    const auto renamed = gguf_shard_names("x.gguf", header);
    REQUIRE(!renamed);
    CHECK_THAT(renamed.error().message, ContainsSubstring("should end in -00002-of-00003.gguf"));
}
