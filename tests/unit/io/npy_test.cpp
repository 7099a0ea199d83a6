#include "io/npy.hpp"

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support/files.hpp"
#include "support/shared_data.hpp"

using namespace attn;
using attn::test::as_bytes;
using attn::test::read_file;
using Catch::Matchers::ContainsSubstring;

namespace {

std::vector<std::byte> npy_golden(const std::string& name) {
    auto bytes = read_file(test::source_dir() / "tests/golden/io/npy" / (name + ".npy"));
    REQUIRE(!bytes.empty());
    return bytes;
}

// Makes a file of version 1.0 without padding, which no writer produces but readers must accept.
std::string npy(const std::string& header, const std::string& data = "") {
    std::string text("\x93NUMPY\1\0", 8);
    text += static_cast<char>(header.size() & 0xff);
    text += static_cast<char>(header.size() >> 8);
    return text + header + data;
}

std::string npy_refusal(const std::string& file) {
    const auto array = parse_npy(as_bytes(file));
    REQUIRE(!array);
    return array.error().message;
}

std::vector<float> counted_floats(std::size_t n) {
    std::vector<float> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<float>(i) / 2 - 1;
    return values;
}

}  // namespace

TEST_CASE("every element type in either byte order", "[npy][golden]") {
    struct Case {
        std::string code;
        DType dtype;
    };
    const std::vector<Case> cases{{"b1", DType::boolean}, {"u1", DType::u8},  {"i1", DType::i8},
                                  {"u2", DType::u16},     {"i2", DType::i16}, {"u4", DType::u32},
                                  {"i4", DType::i32},     {"u8", DType::u64}, {"i8", DType::i64},
                                  {"f2", DType::f16},     {"f4", DType::f32}, {"f8", DType::f64}};
    for (const auto& [code, dtype] : cases) {
        for (const std::string order : {"little_", "big_"}) {
            if (order == "big_" && (code.back() == '1' || code == "i2" || code == "u4" || code == "u8"))
                continue;
            INFO(order + code);
            const auto file = npy_golden(order + code);
            const auto array = parse_npy(file);
            REQUIRE(array);
            CHECK(array->dtype == dtype);
            CHECK(array->shape == Shape{2, 3});
            CHECK(array->big_endian == (order == "big_"));

            std::vector<float> expected = counted_floats(6);
            if (code[0] == 'b') expected = {0, 1, 0, 1, 0, 1};
            if (code[0] == 'u') expected = {0, 1, 2, 3, 4, 5};
            if (code[0] == 'i') expected = {-2, -1, 0, 1, 2, 3};
            const auto tensor = to_tensor(*array);
            REQUIRE(tensor);
            CHECK(*tensor == Tensor({2, 3}, expected));

            const auto integers = to_int64(*array);
            CHECK(static_cast<bool>(integers) == (code[0] != 'f'));
            if (integers) CHECK(*integers == std::vector<std::int64_t>(expected.begin(), expected.end()));
        }
    }
}

TEST_CASE("Fortran order is converted to row-major order", "[npy][golden]") {
    const auto file = npy_golden("fortran_f4");
    const auto array = parse_npy(file);
    REQUIRE(array);
    CHECK(array->strides == Shape{1, 2, 6});
    CHECK(*to_tensor(*array) == Tensor({2, 3, 4}, counted_floats(24)));

    const auto big = npy_golden("fortran_big_i8");
    CHECK(*to_int64(*parse_npy(big)) == std::vector<std::int64_t>{-2, -1, 0, 1, 2, 3});
}

TEST_CASE("ranks and sizes at the edge", "[npy][golden]") {
    const auto tensor = [](const std::string& name) {
        const auto file = npy_golden(name);
        return *to_tensor(*parse_npy(file));
    };
    CHECK(tensor("rank_0") == Tensor({}, std::vector<float>{2.5f}));
    CHECK(tensor("rank_1") == Tensor({5}, counted_floats(5)));
    CHECK(tensor("rank_5") == Tensor({1, 2, 1, 3, 1}, counted_floats(6)));
    CHECK(tensor("empty") == Tensor(Shape{0, 3}));
    CHECK(tensor("empty_fortran") == Tensor(Shape{2, 0, 3}));
    CHECK(tensor("version_2") == Tensor({2, 3}, counted_floats(6)));
    CHECK(tensor("version_3") == Tensor({2, 3}, counted_floats(6)));
    CHECK(tensor("bfloat16") == Tensor({3}, std::vector<float>{1, -2, 0.5f}));

    const Tensor special = tensor("special_f4");
    CHECK(special.values()[0] == std::numeric_limits<float>::infinity());
    CHECK(special.values()[1] == -std::numeric_limits<float>::infinity());
    CHECK(std::isnan(special.values()[2]));
    CHECK(std::signbit(special.values()[3]));
    CHECK(special.values()[4] == std::numeric_limits<float>::denorm_min());

    const auto scalar = npy_golden("rank_0_i8"), extremes = npy_golden("extremes_i8"),
               large = npy_golden("extremes_u8");
    CHECK(*to_int64(*parse_npy(scalar)) == std::vector<std::int64_t>{-7});
    CHECK(*to_int64(*parse_npy(extremes)) ==
          std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::min(),
                                    std::numeric_limits<std::int64_t>::max()});
    CHECK(to_int64(*parse_npy(large)).error().message ==
          "this .npy file has the value 18446744073709551615, which does not fit in 64 bits with a sign");
}

TEST_CASE("NumPy files that this program does not read are refused by name", "[npy][golden]") {
    const auto message = [](const std::string& name) {
        const auto file = npy_golden("refused_" + name);
        const auto array = parse_npy(file);
        REQUIRE(!array);
        return array.error().message;
    };
    CHECK(message("object") ==
          "this .npy file has elements of type '|O' (Python objects), which cannot be read "
          "here; save booleans, integers or floats of 16 to 64 bits");
    CHECK_THAT(message("complex"), ContainsSubstring("'<c8' (complex numbers)"));
    CHECK_THAT(message("text"), ContainsSubstring("'<U4' (strings)"));
    CHECK_THAT(message("bytes"), ContainsSubstring("'|S4' (strings)"));
    CHECK_THAT(message("date"), ContainsSubstring("'<M8[D]' (dates)"));
    CHECK_THAT(message("structure"), ContainsSubstring("structured array"));
    CHECK_THAT(message("long_double"), ContainsSubstring("'<f16'"));
}

TEST_CASE("written files match NumPy's, byte for byte", "[npy][golden]") {
    CHECK(write_npy({2, 3}, std::span<const float>(counted_floats(6))) == npy_golden("little_f4"));
    CHECK(write_npy({5}, std::span<const float>(counted_floats(5))) == npy_golden("rank_1"));
    CHECK(write_npy({1, 2, 1, 3, 1}, std::span<const float>(counted_floats(6))) == npy_golden("rank_5"));
    CHECK(write_npy({}, std::span<const float>(std::vector<float>{2.5f})) == npy_golden("rank_0"));
    CHECK(write_npy({0, 3}, std::span<const float>()) == npy_golden("empty"));
    CHECK(write_npy({2, 3}, std::span<const std::int32_t>(std::vector<std::int32_t>{-2, -1, 0, 1, 2, 3})) ==
          npy_golden("little_i4"));
    CHECK(write_npy({2, 3}, std::span<const std::int64_t>(std::vector<std::int64_t>{-2, -1, 0, 1, 2, 3})) ==
          npy_golden("little_i8"));
}

TEST_CASE("a header may be any spelling of the Python literal", "[npy]") {
    const std::string data(8, '\0');
    for (const std::string header : {
             "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }",
             "{'descr':'<f4','fortran_order':False,'shape':(2,)}",
             "  { \"shape\" : ( 1 , 2 ) ,\t'fortran_order' : True , \"descr\" : \"<f4\" }  \n",
             "{'descr': '<i8', 'fortran_order': False, 'shape': (), }",
             "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 1L), }",
             "{'descr': 'bfloat16', 'fortran_order': False, 'shape': (4,), }",
             "{'descr': '<V2', 'fortran_order': False, 'shape': (4,), }",  // the name that ml_dtypes uses
         }) {
        INFO(header);
        CHECK(parse_npy(as_bytes(npy(header, data))));
    }
}

TEST_CASE("a broken header is refused with the fault and its place", "[npy]") {
    const auto message = [](const std::string& header) {
        return npy_refusal(npy(header, std::string(8, '\0')));
    };
    const std::string rest = "'fortran_order': False, 'shape': (2,)}";
    CHECK(message("") ==
          "this .npy file has a broken header: at character 0 it should have '{' but has its end");
    CHECK(message("{'descr': '<f4', 'fortran_order': No, 'shape': (2,)}") ==
          "this .npy file has a broken header: at character 34 it should have True or False but has "
          "'No, 'shape':'");
    CHECK(message("{'descr': '<f4', 'fortran_order': False, 'shape': (2)}") ==
          "this .npy file has a broken header: at character 52 it should have ',' but has ')}'");
    CHECK_THAT(message("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}"),
               ContainsSubstring("at character 51 it should have a dimension that is not negative"));
    CHECK_THAT(message("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)"),
               ContainsSubstring("',' or '}'"));
    CHECK_THAT(message("{'descr': '<f4', 'fortran_order': False, 'shape': [2]}"),
               ContainsSubstring("a tuple"));
    CHECK_THAT(message("{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}"),
               ContainsSubstring("',' but"));
    CHECK_THAT(message("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x"),
               ContainsSubstring("nothing more"));
    CHECK_THAT(message("{'descr: '<f4'}"), ContainsSubstring("':' but has '<f4'"));
    CHECK_THAT(message("{descr: '<f4'}"), ContainsSubstring("a key in quotes"));
    CHECK_THAT(message("{'descr' '<f4'}"), ContainsSubstring("':'"));
    CHECK_THAT(message("{'descr': 3}"), ContainsSubstring("a type in quotes"));
    CHECK_THAT(message("{'descr': '<f4"), ContainsSubstring("a type in quotes"));
    CHECK_THAT(message("{'descr': '\\x3cf4'}"), ContainsSubstring("a type in quotes"));
    CHECK_THAT(message("{'descr': '<f4', 'descr': '<f4', " + rest), ContainsSubstring("'descr' twice"));
    CHECK_THAT(message("{'descr': '<f4', 'more': 1, " + rest), ContainsSubstring("unknown key 'more'"));
    CHECK_THAT(message("{" + rest), ContainsSubstring("has no 'descr'"));
    CHECK_THAT(message("{'descr': '<f4', 'shape': (2,)}"), ContainsSubstring("has no 'fortran_order'"));
    CHECK_THAT(message("{'descr': '<f4', 'fortran_order': False}"), ContainsSubstring("has no 'shape'"));
    for (const std::string descr : {"", "<", "f4", "=f4", "|f4", "<f3", "<f44", "<q8", "<V3", "float32"})
        CHECK_THAT(message("{'descr': '" + descr + "', " + rest), ContainsSubstring("type '" + descr + "'"));
}

TEST_CASE("a file that lies about its size is refused", "[npy]") {
    const auto header = [](const std::string& shape) {
        return "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + "}";
    };
    CHECK(
        npy_refusal(npy(header("(3, 4)"), std::string(40, '\0'))) ==
        "this .npy file has shape 3×4 of float32, which takes 48 bytes, but 40 follow its header; it is cut "
        "short");
    CHECK(npy_refusal(npy(header("(3, 4)"), std::string(49, '\0'))) ==
          "this .npy file has shape 3×4 of float32, which takes 48 bytes, but 49 follow its header");
    CHECK_THAT(npy_refusal(npy(header("(99999999999999999999,)"))),
               ContainsSubstring("larger than the address space"));
    CHECK_THAT(npy_refusal(npy(header("(1073741824, 1073741824, 1073741824)"))),
               ContainsSubstring("larger than the address space"));
    std::string many = "(";
    for (int i = 0; i < 65; ++i) many += "1, ";
    CHECK_THAT(npy_refusal(npy(header(many + ")"))), ContainsSubstring("more than 64 dimensions"));

    CHECK_THAT(npy_refusal(""), ContainsSubstring("not a .npy file"));
    CHECK_THAT(npy_refusal("\x93NUMPX\1\0"), ContainsSubstring("not a .npy file"));
    CHECK_THAT(npy_refusal("\x93NUMPY\1"), ContainsSubstring("first 8 bytes"));
    CHECK_THAT(npy_refusal(std::string("\x93NUMPY\4\0\0\0", 10)), ContainsSubstring("version 4.0"));
    CHECK_THAT(npy_refusal(std::string("\x93NUMPY\1\1\0\0", 10)), ContainsSubstring("version 1.1"));
    CHECK_THAT(npy_refusal(std::string("\x93NUMPY\2\0\0\0", 10)), ContainsSubstring("length of its header"));
    CHECK(npy_refusal(std::string("\x93NUMPY\2\0\xff\xff\xff\xff{}", 14)) ==
          "this .npy file says that its header has 4294967295 bytes, but only 2 follow");

    const auto whole = npy_golden("little_f8");
    for (std::size_t size = 0; size < whole.size(); ++size) CHECK(!parse_npy(std::span(whole).first(size)));
}

TEST_CASE("the elements of an array at the end of a file may be unaligned", "[npy]") {
    std::string file =
        npy("{'descr': '<i4', 'fortran_order': False, 'shape': (1,)}", std::string("\1\0\0\0", 4));
    CHECK(*to_int64(*parse_npy(as_bytes(file))) == std::vector<std::int64_t>{1});
    CHECK(to_tensor(*parse_npy(as_bytes(file)))->values()[0] == 1);
}

TEST_CASE("floats are not accepted as whole numbers", "[npy]") {
    const auto file = write_npy({1}, std::span<const float>(std::vector<float>{1}));
    CHECK(to_int64(*parse_npy(file)).error().message ==
          "this .npy file holds float32 where whole numbers are needed");
}

TEST_CASE("the conformance cases are read and written back unchanged", "[npy][shared]") {
    const auto folder = test::shared_data("conformance/onnx");
    if (!folder) SKIP("shared/conformance/onnx is not here");
    int files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(*folder)) {
        if (entry.path().extension() != ".npy") continue;
        INFO(entry.path());
        const auto file = read_file(entry.path());
        const auto array = parse_npy(file);
        REQUIRE(array);
        const auto tensor = to_tensor(*array);
        REQUIRE(tensor);
        if (array->dtype == DType::f32) CHECK(write_npy(array->shape, tensor->values()) == file);
        ++files;
    }
    CHECK(files > 0);
}
