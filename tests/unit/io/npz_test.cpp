#include "io/npz.hpp"

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <string>
#include <vector>

#include "support/files.hpp"

using namespace attn;
using attn::test::read_file;

namespace {

std::vector<std::byte> npz_golden(const std::string& name) {
    auto bytes = read_file(test::source_dir() / "tests/golden/io/npz" / (name + ".npz"));
    REQUIRE(!bytes.empty());
    return bytes;
}

Tensor values(const NpzArray& array) {
    auto unpacked = Unpacking(array.entry).finish();
    REQUIRE(unpacked);
    const auto parsed = parse_npy(unpacked->bytes);
    REQUIRE(parsed);
    REQUIRE(array.header);
    CHECK(parsed->dtype == array.header->array.dtype);
    CHECK(parsed->shape == array.header->array.shape);
    return *to_tensor(*parsed);
}

const NpzArray& named(const std::vector<NpzArray>& arrays, const std::string& name) {
    const auto found = std::ranges::find(arrays, name, &NpzArray::name);
    REQUIRE(found != arrays.end());
    return *found;
}

Tensor counted() {
    std::vector<float> values(24);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 2 - 1;
    return Tensor({2, 3, 4}, values);
}

}  // namespace

TEST_CASE("arrays of every kind, stored and deflated", "[npz][golden]") {
    for (const std::string name : {"stored", "deflated"}) {
        INFO(name);
        const auto file = npz_golden(name);
        const auto arrays = parse_npz(file);
        REQUIRE(arrays);
        CHECK(arrays->size() == 10);
        struct Case {
            std::string name;
            DType dtype;
        };
        for (const auto& [key, dtype] :
             {Case{"q", DType::f32}, Case{"half", DType::f16}, Case{"bfloat16", DType::bf16},
              Case{"double_big", DType::f64}, Case{"fortran", DType::f32}, Case{"fortran_big", DType::f16}}) {
            INFO(key);
            const NpzArray& array = named(*arrays, key);
            CHECK(array.header->array.dtype == dtype);
            CHECK(values(array) == counted());
        }
        CHECK(values(named(*arrays, "int32")).values()[23] == 23);
        CHECK(values(named(*arrays, "mask")) ==
              Tensor({3, 3}, std::vector<float>{1, 0, 0, 1, 1, 0, 1, 1, 1}));
        CHECK(values(named(*arrays, "scalar")) == Tensor({}, std::vector<float>{7}));
        CHECK(values(named(*arrays, "empty")).shape() == Shape{0, 4});
    }
}

TEST_CASE("other archives of arrays", "[npz][golden]") {
    const auto unnamed = npz_golden("unnamed"), by_hand = npz_golden("by_hand"),
               longer = npz_golden("long_header");
    CHECK(parse_npz(unnamed)->at(0).name == "arr_0");
    CHECK(parse_npz(unnamed)->at(1).header->array.shape == Shape{3, 4});
    const auto folders = parse_npz(by_hand);
    REQUIRE(folders->size() == 2);
    CHECK(folders->at(1).name == "layer0/k");
    CHECK(values(parse_npz(longer)->at(0)).values()[2] == 0);
}

TEST_CASE("an array that cannot be read leaves the others", "[npz][golden]") {
    const auto file = npz_golden("with_strings");
    const auto arrays = parse_npz(file);
    REQUIRE(arrays);
    CHECK(values(named(*arrays, "q")) == counted());
    const auto& tokens = named(*arrays, "tokens").header;
    REQUIRE(!tokens);
    CHECK(tokens.error().message ==
          "this .npy file has elements of type '<U4' (strings), which cannot be read here; save booleans, "
          "integers or floats of 16 to 64 bits");
}

TEST_CASE("archives without arrays", "[npz][golden]") {
    const auto torch = npz_golden("refused_torch");
    CHECK(parse_npz(torch).error().message ==
          "this is what torch.save writes; save with numpy.savez or safetensors instead");
    const std::string empty = "PK\5\6" + std::string(18, '\0');
    CHECK(parse_npz(test::as_bytes(empty)).error().message == "this archive holds no .npy files");
}
