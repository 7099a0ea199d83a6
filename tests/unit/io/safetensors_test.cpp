#include "io/safetensors.hpp"

#include <algorithm>
#include <array>
#include <catch_amalgamated.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support/files.hpp"
#include "support/shared_data.hpp"
#include "support/this_build.hpp"

using namespace attn;
using attn::test::as_bytes;
using attn::test::read_file;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string length_of(std::uint64_t n) {
    std::string text;
    for (int i = 0; i < 8; ++i) text += static_cast<char>(n >> (8 * i) & 0xff);
    return text;
}

std::string file_of(const std::string& header, std::size_t data_bytes = 0) {
    return length_of(header.size()) + header + std::string(data_bytes, '\0');
}

std::string safetensors_refusal(const std::string& file) {
    const auto parsed = parse_safetensors(as_bytes(file));
    REQUIRE(!parsed);
    return parsed.error().message;
}

// Makes a header with only the tensor "t".
std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return R"({"t":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

std::vector<std::byte> safetensors_golden(const std::string& name) {
    auto bytes = read_file(test::source_dir() / "tests/golden/io/safetensors" / name);
    REQUIRE(!bytes.empty());
    return bytes;
}

}  // namespace

TEST_CASE("every element type of the format", "[safetensors][golden]") {
    const auto bytes = safetensors_golden("every_type.safetensors");
    const auto file = parse_safetensors(bytes);
    REQUIRE(file);
    CHECK(file->header.tensors.size() == 25);
    CHECK(file->header.metadata == std::map<std::string, std::string>{{"format", "pt"}, {"note", "by hand"}});
    CHECK(file->header.data_offset + file->data.size() == bytes.size());

    const auto holds = [&](const std::string& name, DType dtype, Shape shape, std::vector<float> values) {
        INFO(name);
        const TensorEntry* entry = file->header.find(name);
        REQUIRE(entry);
        CHECK(entry->dtype == dtype);
        const auto tensor = file->tensor(name);
        REQUIRE(tensor);
        CHECK(*tensor == Tensor(std::move(shape), values));
    };
    holds("f64", DType::f64, {2}, {1.5f, -0.1f});
    holds("i64", DType::i64, {2}, {-1, 1099511627776.0f});
    holds("u64", DType::u64, {1}, {9223372036854775808.0f});
    holds("f32", DType::f32, {2, 3}, {0, 1, 2, 3, 4, std::numeric_limits<float>::infinity()});
    holds("i32", DType::i32, {1, 1}, {-5});
    holds("u32", DType::u32, {1}, {5});
    holds("f16", DType::f16, {3}, {1, -2, 0.0999755859375f});
    holds("bf16", DType::bf16, {2}, {1, -2});
    holds("i16", DType::i16, {1}, {-300});
    holds("u16", DType::u16, {1}, {60000});
    holds("i8", DType::i8, {1}, {-7});
    holds("u8", DType::u8, {1}, {200});
    holds("bool", DType::boolean, {2}, {1, 0});
    holds("scalar", DType::f32, {}, {7});
    holds("empty", DType::f32, {0, 4}, {});
    holds("a \"strange\"\nname é", DType::u8, {1}, {1});

    for (const std::string name :
         {"c64", "f8_e5m2", "f8_e4m3", "f8_e5m2fnuz", "f8_e4m3fnuz", "f8_e8m0", "f6_e2m3", "f6_e3m2", "f4"}) {
        INFO(name);
        const TensorEntry* entry = file->header.find(name);
        REQUIRE(entry);
        CHECK(!entry->dtype);
        CHECK(!file->tensor(name));
    }
    CHECK(file->tensor("f4").error().message ==
          "this .safetensors file has tensor 'f4' of dtype F4, which cannot be computed with here");
    CHECK(file->tensor("f").error().message == "this .safetensors file has no tensor 'f'");
    CHECK(!file->header.find(""));
}

TEST_CASE("files without tensors", "[safetensors][golden]") {
    const auto none = safetensors_golden("no_tensors.safetensors"),
               metadata = safetensors_golden("only_metadata.safetensors");
    CHECK(parse_safetensors(none)->header.tensors.empty());
    CHECK(parse_safetensors(metadata)->header.metadata.at("format") == "np");
}

TEST_CASE("a header is checked before the body is there", "[safetensors]") {
    const std::string header = one("F32", "[2,3]", "[0,24]");
    const std::string start = length_of(header.size()) + header;
    const auto size = safetensors_header_size(as_bytes(start).first(8), start.size() + 24);
    REQUIRE(size);
    CHECK(*size == start.size());
    const auto parsed = parse_safetensors_header(as_bytes(start), start.size() + 24);
    REQUIRE(parsed);
    CHECK(parsed->data_offset == start.size());
    CHECK(parsed->find("t")->shape == Shape{2, 3});

    CHECK(!parse_safetensors_header(as_bytes(start), start.size() + 23));
    CHECK(!parse_safetensors_header(as_bytes(start), start.size() + 25));
    CHECK(parse_safetensors_header(as_bytes(start).first(20), start.size() + 24).error().message ==
          "this .safetensors file has a header that ends at byte " + std::to_string(start.size()) +
              ", but only its first 20 bytes are here");

    // The body has 5 GB, more than fits in 32 bits.
    const std::string large = one("BF16", "[50000,50000]", "[0,5000000000]");
    const std::string large_start = length_of(large.size()) + large;
    const auto entry = parse_safetensors_header(as_bytes(large_start), large_start.size() + 5'000'000'000);
    REQUIRE(entry);
    CHECK(entry->find("t")->end == 5'000'000'000);
}

TEST_CASE("the length of the header is checked", "[safetensors]") {
    const std::string subject = "this .safetensors file ";
    CHECK(safetensors_refusal("") == subject + "ends within its first 8 bytes, the length of its header");
    CHECK(safetensors_refusal("1234567") ==
          subject + "ends within its first 8 bytes, the length of its header");
    CHECK(safetensors_refusal(length_of(3) + "{}") ==
          subject + "says that its header has 3 bytes, but only 2 follow; it is cut short");
    CHECK(safetensors_refusal(length_of(100'000'001) + "{}") ==
          subject +
              "says that its header has 100000001 bytes; the format allows 100000000, so this is another "
              "kind of file or a broken one");
    CHECK_THAT(safetensors_refusal(length_of(~std::uint64_t{0}) + "{}"),
               ContainsSubstring("18446744073709551615 bytes"));
    CHECK(safetensors_refusal(length_of(0)) == subject + "has a header that does not begin with '{'");
    CHECK(safetensors_refusal(file_of(" {}")) == subject + "has a header that does not begin with '{'");
    CHECK(safetensors_refusal(file_of("[]")) == subject + "has a header that does not begin with '{'");
    CHECK(parse_safetensors(as_bytes(file_of("{}     "))));
    CHECK(safetensors_refusal(file_of("{}  x")) ==
          "the header of this .safetensors file is not valid JSON at line 1, column 5: invalid literal");
    CHECK_THAT(safetensors_refusal(file_of(std::string("{}\0{}", 5))), ContainsSubstring("zero byte"));
    CHECK_THAT(safetensors_refusal(file_of("{\"\xff\":1}")), ContainsSubstring("ill-formed UTF-8"));
}

TEST_CASE("every file cut short is refused", "[safetensors]") {
    const auto whole = safetensors_golden("every_type.safetensors");
    for (std::size_t size = 0; size < whole.size(); ++size)
        CHECK(!parse_safetensors(std::span(whole).first(size)));
}

TEST_CASE("duplicate keys are refused at every level", "[safetensors]") {
    const std::string entry = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
    CHECK(safetensors_refusal(file_of(R"({"t":)" + entry + R"(,"t":)" + entry + "}")) ==
          "the header of this .safetensors file has the key 't' twice");
    CHECK(safetensors_refusal(
              file_of(R"({"t":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}})")) ==
          "the header of this .safetensors file has the key 'dtype' twice in 't'");
    CHECK(safetensors_refusal(file_of(R"({"__metadata__":{"a":"1","a":"2"}})")) ==
          "the header of this .safetensors file has the key 'a' twice in '__metadata__'");
}

TEST_CASE("metadata is a map from text to text", "[safetensors]") {
    CHECK(safetensors_refusal(file_of(R"({"__metadata__":{"a":1}})")) ==
          "this .safetensors file has '__metadata__' whose 'a' is not a text");
    CHECK(safetensors_refusal(file_of(R"({"__metadata__":"text"})")) ==
          "this .safetensors file has '__metadata__' that is not an object");
    CHECK(!parse_safetensors(as_bytes(file_of(R"({"__metadata__":null})"))));
}

TEST_CASE("an incomplete or unexpected entry is refused", "[safetensors]") {
    const std::string subject = "this .safetensors file has tensor 't' ";
    CHECK(safetensors_refusal(file_of(R"({"t":1})")) == subject + "without dtype, shape and data_offsets");
    CHECK(safetensors_refusal(file_of(R"({"t":{"shape":[],"data_offsets":[0,4]}})", 4)) ==
          subject + "without a 'dtype'");
    CHECK(safetensors_refusal(file_of(R"({"t":{"dtype":4,"shape":[],"data_offsets":[0,4]}})", 4)) ==
          subject + "without a 'dtype'");
    CHECK(safetensors_refusal(file_of(one("F33", "[]", "[0,4]"), 4)) ==
          subject + "of the unknown dtype 'F33'");
    for (const std::string shape : {"4", "null", "[1.0]", "[-1]", "[\"1\"]", "[[1]]", "{}"}) {
        INFO(shape);
        CHECK(safetensors_refusal(file_of(one("F32", shape, "[0,4]"), 4)) ==
              subject + "without a 'shape' of whole numbers");
    }
    for (const std::string offsets : {"4", "[]", "[0]", "[0,4,8]", "[0,4.0]", "[-4,0]", "[0,1e1]"}) {
        INFO(offsets);
        CHECK(safetensors_refusal(file_of(one("F32", "[]", offsets), 4)) ==
              subject + "without 'data_offsets' of two whole numbers");
    }
    CHECK_THAT(safetensors_refusal(file_of(R"({"t":{"dtype":{"a":{"b":{}}}}})")),
               ContainsSubstring("more than 4 levels"));
}

TEST_CASE("wrong sizes are refused", "[safetensors]") {
    const std::string subject = "this .safetensors file has tensor 't' ";
    CHECK(safetensors_refusal(file_of(one("F32", "[2,3]", "[0,20]"), 20)) ==
          subject + "of shape 2×3 and dtype F32, which takes 24 bytes, but its data_offsets [0, 20) hold 20");
    CHECK(safetensors_refusal(file_of(one("F32", "[0]", "[4,0]"), 4)) ==
          subject + "with data_offsets [4, 0), which end before they begin");
    CHECK(safetensors_refusal(file_of(one("F4", "[3]", "[0,1]"), 1)) ==
          subject + "of shape 3 and dtype F4, which does not fill whole bytes");
    CHECK(safetensors_refusal(file_of(one("F6_E2M3", "[2]", "[0,1]"), 1)) ==
          subject + "of shape 2 and dtype F6_E2M3, which does not fill whole bytes");

    // These products wrap to the right size in 64 bits.
    for (const std::string shape :
         {"[4294967296,4294967296]", "[9223372036854775807,2,4]", "[18446744073709551615]",
          "[2305843009213693952]", "[4294967296,4294967296,0]"}) {
        INFO(shape);
        CHECK(safetensors_refusal(file_of(one("F32", shape, "[0,0]"))) ==
              subject + "with a shape that is larger than the address space");
    }
    CHECK_THAT(safetensors_refusal(file_of(one("F32", "[18446744073709551616]", "[0,0]"))),
               ContainsSubstring("whole numbers"));
    std::string ones = "[1";
    for (int i = 0; i < 64; ++i) ones += ",1";
    CHECK(safetensors_refusal(file_of(one("U8", ones + "]", "[0,1]"), 1)) ==
          subject + "with more than 64 dimensions");
    CHECK(!parse_safetensors(as_bytes(file_of(one("U8", "[1]", "[18446744073709551615,0]"), 1))));
}

TEST_CASE("tensors fill the data without holes or overlaps", "[safetensors]") {
    const auto two = [](const std::string& a, const std::string& b) {
        return R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + a +
               R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + b + "}}";
    };
    const std::string subject = "this .safetensors file has tensor";
    CHECK(parse_safetensors(as_bytes(file_of(two("[0,4]", "[4,8]"), 8))));
    CHECK(parse_safetensors(as_bytes(file_of(two("[4,8]", "[0,4]"), 8))));
    CHECK(safetensors_refusal(file_of(two("[0,4]", "[5,9]"), 9)) ==
          subject + " 'b' at byte 5 of its data where byte 4 should come next; tensors must not leave holes");
    CHECK(safetensors_refusal(file_of(two("[0,4]", "[3,7]"), 7)) ==
          subject + " 'b' at byte 3 of its data where byte 4 should come next; tensors must not overlap");
    CHECK(safetensors_refusal(file_of(two("[0,4]", "[0,4]"), 4)) ==
          subject + " 'b' at byte 0 of its data where byte 4 should come next; tensors must not overlap");
    CHECK_THAT(safetensors_refusal(file_of(two("[1,5]", "[5,9]"), 9)), ContainsSubstring("'a' at byte 1"));
    CHECK(safetensors_refusal(file_of(two("[0,4]", "[4,8]"), 9)) ==
          subject + "s that end at byte 8 of its data, but its data has 9 bytes");
    CHECK(safetensors_refusal(file_of(two("[0,4]", "[4,8]"), 7)) ==
          subject + "s that end at byte 8 of its data, but its data has 7 bytes; it is cut short");
    CHECK(!parse_safetensors(as_bytes(file_of("{}", 1))));

    const auto with_empty = [](const std::string& offsets) {
        return R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"e":{"dtype":"U8","shape":[0],"data_offsets":)" +
               offsets + "}}";
    };
    CHECK(parse_safetensors(as_bytes(file_of(with_empty("[0,0]"), 4))));
    CHECK(parse_safetensors(as_bytes(file_of(with_empty("[4,4]"), 4))));
    CHECK(!parse_safetensors(as_bytes(file_of(with_empty("[2,2]"), 4))));
    CHECK(!parse_safetensors(as_bytes(file_of(with_empty("[9,9]"), 4))));
}

TEST_CASE("a hundred thousand tensors are read in a moment", "[safetensors]") {
    const int count = 100'000 / test::thinned;
    std::string header = "{";
    for (int i = count; i-- > 0;) {
        const std::string n = std::to_string(i), end = std::to_string(i + 1);
        header += (header.size() > 1 ? "," : "") + ("\"layer." + n) +
                  R"(":{"dtype":"U8","shape":[1],"data_offsets":[)" + n + "," + end + "]}";
    }
    const std::string file = file_of(header + "}", count);
    const auto parsed = parse_safetensors(as_bytes(file));
    REQUIRE(parsed);
    CHECK(parsed->header.tensors.size() == static_cast<std::size_t>(count));
    CHECK(parsed->header.find("layer.7777")->begin == 7'777);
}

TEST_CASE("an index tells which file holds which tensor", "[safetensors]") {
    const auto parse = [](const std::string& text) { return parse_safetensors_index(as_bytes(text)); };
    const auto index =
        parse(R"({"metadata":{"total_size":12},"weight_map":{"b":"model-00002-of-00002.safetensors",
        "a":"model-00001-of-00002.safetensors","c":"model-00002-of-00002.safetensors"}})");
    REQUIRE(index);
    CHECK(index->files ==
          std::vector<std::string>{"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"});
    CHECK(index->weight_map.find(std::string_view("c"))->second == "model-00002-of-00002.safetensors");

    const std::string subject = "model.safetensors.index.json ";
    CHECK(parse("{}").error().message == subject + "has no 'weight_map'");
    CHECK(parse("[]").error().message == subject + "has no 'weight_map'");
    CHECK(parse(R"({"weight_map":[]})").error().message ==
          subject + "has a 'weight_map' that is not an object");
    CHECK(parse(R"({"weight_map":{"a":1}})").error().message == subject + "names no file for tensor 'a'");
    CHECK(parse(R"({"weight_map":{"a":"x","a":"y"}})").error().message ==
          subject + "has the key 'a' twice in 'weight_map'");
    for (const std::string name :
         {"../x.safetensors", "/x.safetensors", "a/b.safetensors", "a\\\\b.safetensors", "", ".safetensors",
          "..safetensors", "x.bin", "https:x.safetensors", "x?.safetensors", "x%2f.safetensors"}) {
        INFO(name);
        const auto refused = parse(R"({"weight_map":{"a":")" + name + R"("}})");
        REQUIRE(!refused);
        CHECK_THAT(refused.error().message,
                   ContainsSubstring("a plain name that ends in .safetensors is needed"));
    }
}

TEST_CASE("other people's checkpoints", "[safetensors][shared]") {
    const auto folder = test::shared_data("models");
    if (!folder) SKIP("shared/models is not here");
    int files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(*folder)) {
        if (entry.path().extension() != ".safetensors") continue;
        INFO(entry.path());
        const auto bytes = read_file(entry.path());
        const auto file = parse_safetensors(bytes);
        REQUIRE(file);
        CHECK(!file->header.tensors.empty());
        for (const TensorEntry& tensor : file->header.tensors) {
            INFO(tensor.name);
            const auto values = file->tensor(tensor.name);
            REQUIRE(values);
            CHECK(std::ranges::all_of(values->values(), [](float x) { return std::isfinite(x); }));
        }
        ++files;
    }
    CHECK(files > 0);
}

TEST_CASE("a written file can be read again", "[safetensors]") {
    const std::array<float, 6> matrix{1, -2, 3.5f, 0, 1e-30f, 65504};
    const std::array<std::uint16_t, 2> halves{0x3c00, 0xc000};
    const std::array<TensorToWrite, 3> tensors{
        TensorToWrite{"a matrix", DType::f32, {2, 3}, std::as_bytes(std::span(matrix))},
        TensorToWrite{"half", DType::f16, {2}, std::as_bytes(std::span(halves))},
        TensorToWrite{"nothing", DType::f32, {0}, {}}};
    const auto bytes = write_safetensors(tensors, {{"step", "12"}});
    const auto file = parse_safetensors(bytes);
    REQUIRE(file);
    CHECK(file->header.data_offset % 8 == 0);
    CHECK(file->header.metadata == std::map<std::string, std::string>{{"step", "12"}});
    CHECK(*file->tensor("a matrix") == Tensor({2, 3}, matrix));
    CHECK(*file->tensor("half") == Tensor({2}, std::array<float, 2>{1, -2}));
    CHECK(file->tensor("nothing")->size() == 0);
    CHECK(parse_safetensors(write_safetensors(std::span<const TensorToWrite>{}))->header.tensors.empty());
}
