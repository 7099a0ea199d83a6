#include "io/tensor_files.hpp"

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <string>
#include <vector>

#include "io/npy.hpp"
#include "io/safetensors.hpp"
#include "io/tensor_match.hpp"
#include "support/files.hpp"

using namespace attn;
using attn::test::as_bytes;
using attn::test::read_file;

namespace {

std::vector<std::byte> golden_file(const std::string& name) {
    auto bytes = read_file(test::source_dir() / "tests/golden/io" / name);
    REQUIRE(!bytes.empty());
    return bytes;
}

FoundFiles found_in(std::vector<DroppedFile> files) {
    auto found = FileReading(std::move(files)).finish();
    if (!found) INFO(found.error().message);
    REQUIRE(found);
    return *std::move(found);
}

std::string files_refusal(const std::string& name, std::span<const std::byte> bytes) {
    const auto found = FileReading({{name, bytes}}).finish();
    REQUIRE(!found);
    return found.error().message;
}

Tensor loaded(const FoundTensor& tensor) {
    auto values = TensorLoading(tensor).finish();
    REQUIRE(values);
    return *to_tensor(values->array);
}

const FoundTensor& named(const FoundFiles& found, const std::string& name) {
    const auto tensor = std::ranges::find(found.tensors, name, &FoundTensor::name);
    REQUIRE(tensor != found.tensors.end());
    return *tensor;
}

}  // namespace

TEST_CASE("the tensors of every kind of file", "[tensor_files][golden]") {
    const auto npy = golden_file("npy/fortran_f4.npy"), stored = golden_file("npz/stored.npz"),
               deflated = golden_file("npz/deflated.npz"),
               safetensors = golden_file("safetensors/every_type.safetensors");
    const std::string csv = ",a,b\nx,1,2\ny,3,4\n", json = R"(["The", " c\u00e9", ""])",
                      text = "The\r\n cat\n\n";
    const FoundFiles found = found_in({{"my q.NPY", npy},
                                       {"folder/s.npz", stored},
                                       {"d.npz", deflated},
                                       {"e.safetensors", safetensors},
                                       {"table.csv", as_bytes(csv)},
                                       {"tokens.json", as_bytes(json)},
                                       {"tokens.txt", as_bytes(text)}});
    const Tensor q = loaded(named(found, "my q"));
    CHECK(q.shape() == Shape{2, 3, 4});
    int halves = 0;
    for (const FoundTensor& tensor : found.tensors) {
        if (tensor.name != "half") continue;
        CHECK(tensor.dtype == DType::f16);
        CHECK(loaded(tensor) == q);
        ++halves;
    }
    CHECK(halves == 2);
    CHECK(loaded(named(found, "e.f64")).values()[0] == 1.5f);
    CHECK(loaded(named(found, "table")) == Tensor({2, 2}, std::vector<float>{1, 2, 3, 4}));
    CHECK(named(found, "table").row_labels == std::vector<std::string>{"x", "y"});
    REQUIRE(found.tokens.size() == 2);
    CHECK(found.tokens[0].tokens == std::vector<std::string>{"The", " cé", ""});
    CHECK(found.tokens[1].tokens == std::vector<std::string>{"The", " cat", ""});
    CHECK(found.notes.size() == 9);  // the types of safetensors that this program cannot compute with
    CHECK(found.notes[0] ==
          "e.safetensors has 'c64', which is left out: this .safetensors file has tensor 'c64' of "
          "dtype C64, which cannot be computed with here");
}

TEST_CASE("a stored tensor is a view into the file, a deflated one owns its bytes",
          "[tensor_files][golden]") {
    const auto npy = golden_file("npy/little_f4.npy"), stored = golden_file("npz/stored.npz"),
               deflated = golden_file("npz/deflated.npz");
    const auto lies_in = [](const ArrayView& array, std::span<const std::byte> file) {
        return array.bytes.data() >= file.data() && array.bytes.data() < file.data() + file.size();
    };
    const FoundFiles alone = found_in({{"a.npy", npy}});
    CHECK(lies_in(TensorLoading(alone.tensors[0]).finish()->array, npy));
    const FoundFiles in_archive = found_in({{"a.npz", stored}});
    const auto view = TensorLoading(in_archive.tensors[0]).finish();
    CHECK(lies_in(view->array, stored));
    CHECK(!view->owner);
    const FoundFiles packed = found_in({{"a.npz", deflated}});
    const auto own = TensorLoading(packed.tensors[0]).finish();
    CHECK(!lies_in(own->array, deflated));
    CHECK(own->owner);
}

TEST_CASE("names come from the array, or else from the file", "[tensor_files][golden]") {
    const auto unnamed = golden_file("npz/unnamed.npz"), one = golden_file("npz/zip64_stored.npz");
    const FoundFiles found = found_in({{"attentions.npz", unnamed}, {"run.npz", one}});
    CHECK(found.tensors[0].name == "attentions.arr_0");
    CHECK(found.tensors[2].name == "q");
    CHECK(found.tensors[3].name == "half");
    const auto strings = golden_file("npz/with_strings.npz");
    const FoundFiles noted = found_in({{"a.npz", strings}});
    CHECK(noted.tensors.size() == 1);
    REQUIRE(noted.notes.size() == 1);
    CHECK(noted.notes[0].starts_with(
        "a.npz has 'tokens', which is left out: this .npy file has elements of type '<U4'"));
}

TEST_CASE("a file that cannot be read is named", "[tensor_files][golden]") {
    const auto bzip2 = golden_file("npz/refused_bzip2.npz");
    CHECK(files_refusal("a.npz", bzip2) ==
          "a.npz: this zip archive has entry 'q.npy' packed by bzip2; only stored and deflated entries can "
          "be read");
    CHECK(files_refusal("a.npy", as_bytes("x")) ==
          "a.npy: this is not a .npy file: it does not begin with \\x93NUMPY");
    CHECK(files_refusal("a.csv", as_bytes("1,2\n3\n")) ==
          "a.csv: this table has 1 fields in row 2 where 2 stand above");
    CHECK(files_refusal("a.pt", as_bytes("x")) ==
          "a.pt: tensors are read from .npy, .npz, .safetensors and .csv, their tokens from .json and .txt");
    CHECK(files_refusal("npy", as_bytes("x")).starts_with("npy: tensors are read from"));
    CHECK(files_refusal("a.json", as_bytes("{\"a\": 1}")) ==
          "a.json: this file should hold a list of tokens, such as [\"The\", \" cat\"]");
    CHECK(files_refusal("a.json", as_bytes("[\"a\", 1]")).ends_with("such as [\"The\", \" cat\"]"));
    CHECK(
        files_refusal("a.json", as_bytes("[")).starts_with("a.json: this file is not valid JSON at line 1"));
    CHECK(files_refusal("a.safetensors", as_bytes("x"))
              .starts_with("a.safetensors: this .safetensors file ends within"));

    const auto damaged = golden_file("npz/lie_crc.npz");
    const FoundFiles found = found_in({{"a.npz", damaged}});
    const auto tensor = TensorLoading(found.tensors[0]).finish();
    REQUIRE(!tensor);
    CHECK(tensor.error().message.starts_with("a.npz: this zip archive has entry 'q.npy' that is damaged"));
}

TEST_CASE("from dropped files to rows of weights", "[tensor_files]") {
    // The shape [1 layer, 1 text, 2 heads, 2 queries, 3 keys] is that of outputs.attentions in transformers.
    const std::vector<float> weights{1, 0, 0, 0.5f, 0.5f, 0, 0.25f, 0.25f, 0.5f, 0, 1, 0};
    const auto file = write_npy({1, 1, 2, 2, 3}, std::span<const float>(weights));
    const std::string tokens = R"(["a", "b", "c"])";
    const FoundFiles found = found_in({{"attentions.npy", file}, {"tokens.json", as_bytes(tokens)}});
    const auto matched = match(found, {});
    REQUIRE(matched);
    const auto& m = std::get<Matched>(*matched);
    CHECK(m.key_tokens == std::vector<std::string>{"a", "b", "c"});
    const auto array = TensorLoading(found.tensors[m.weights[0].tensor]).finish();
    const ArrayView view = placed(array->array, m.weights[0]);
    CHECK(view.shape == Shape{1, 2, 2, 3});
    std::vector<float> row(3);
    read(view, view.offset(std::vector<Index>{0, 1, 0}), view.strides[3], row);
    CHECK(row == std::vector<float>{0.25f, 0.25f, 0.5f});
}

TEST_CASE("files are read one at a time", "[tensor_files]") {
    const auto npy = golden_file("npy/little_f4.npy");
    FileReading reading({{"a.npy", npy}, {"b.npy", npy}, {"c.npy", npy}});
    CHECK(reading.step());
    CHECK(reading.step());
    CHECK(!reading.step());
    CHECK(reading.finish()->tensors.size() == 3);
    CHECK(FileReading({}).finish()->tensors.empty());
    FileReading stops({{"a.npy", as_bytes("x")}, {"b.npy", npy}});
    CHECK(!stops.step());
    CHECK(!stops.finish());
}
