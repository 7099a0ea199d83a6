// Tests the runner itself on cases written here: what it accepts, what it refuses, and with which message.

#include <catch_amalgamated.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "cli/conformance.hpp"
#include "io/npy.hpp"
#include "support/numbers.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

// A case in a folder of its own, which the destructor removes.
class Case {
  public:
    Case(const std::string& op, int opset, json attributes = json::object())
        : folder_(fs::temp_directory_path() / ("attn-case-" + std::to_string(std::random_device()()))) {
        fs::remove_all(folder_);
        fs::create_directories(folder_);
        meta_ = {{"op", op},
                 {"opset", opset},
                 {"attributes", std::move(attributes)},
                 {"node_inputs", json::array()},
                 {"node_outputs", json::array()},
                 {"tensors", json::object()}};
    }
    ~Case() {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }
    Case(const Case&) = delete;

    Case& input(const std::string& name, const Tensor& value) { return add("node_inputs", name, value); }
    Case& output(const std::string& name, const Tensor& value) { return add("node_outputs", name, value); }
    Case& omit_output() {
        meta_["node_outputs"].push_back("");
        return *this;
    }

    json& meta() { return meta_; }
    const fs::path& folder() const { return folder_; }

    // Returns "" if the case passes.
    std::string failure() const {
        std::ofstream(folder_ / "meta.json") << meta_.dump();
        const Status status = check_case(folder_);
        return status ? "" : status.error().message;
    }

  private:
    Case& add(const char* list, const std::string& name, const Tensor& value) {
        meta_[list].push_back(name);
        meta_["tensors"][name] = {{"file", name + ".npy"}};
        const auto bytes = write_npy(value.shape(), value.values());
        std::ofstream(folder_ / (name + ".npy"), std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
        return *this;
    }

    fs::path folder_;
    json meta_;
};

Tensor vector(std::vector<float> values) { return Tensor({std::ssize(values)}, values); }
Tensor matrix(Index rows, Index cols, std::vector<float> values) { return Tensor({rows, cols}, values); }

}  // namespace

TEST_CASE("A correct output passes; a wrong one is named with its place and distance", "[conformance]") {
    Case right("Softmax", 13);
    right.input("x", matrix(1, 2, {0, 0})).output("y", matrix(1, 2, {0.5f, 0.5f}));
    CHECK(right.failure() == "");

    Case wrong("Softmax", 13);
    wrong.input("x", matrix(2, 2, {0, 0, 0, 0})).output("y", matrix(2, 2, {0.5f, 0.5f, 0.25f, 0.5f}));
    CHECK(wrong.failure() == "y[1, 0] is 0.5 instead of 0.25, off by 0.25 where 1.25e-05 is allowed");
}

TEST_CASE("Infinities and NaN must match exactly", "[conformance]") {
    Case c("Swish", 24);
    c.input("x", vector({infinity, not_a_number})).output("y", vector({infinity, not_a_number}));
    CHECK(c.failure() == "");
    Case finite("Swish", 24);
    finite.input("x", vector({infinity})).output("y", vector({1}));
    CHECK_THAT(finite.failure(), ContainsSubstring("y[0] is inf instead of 1"));
}

TEST_CASE("Unknown features fail with a sentence", "[conformance]") {
    Case op("Convolution", 13);
    op.input("x", vector({1})).output("y", vector({1}));
    CHECK(op.failure() == "operator 'Convolution' is not known here");

    Case attribute("Gelu", 20, {{"sharpness", 2}});
    attribute.input("x", vector({0})).output("y", vector({0}));
    CHECK(attribute.failure() == "attribute 'sharpness' is not known here");

    Case type("Gelu", 20, {{"approximate", 2}});
    type.input("x", vector({0})).output("y", vector({0}));
    CHECK(type.failure() == "attribute approximate must be a string");

    Case shape("Gelu", 20);
    shape.input("x", vector({0})).output("y", matrix(1, 1, {0}));
    CHECK(shape.failure() == "y is 1 instead of 1×1");

    Case many("Gelu", 20);
    many.input("x", vector({0})).output("y", vector({0})).output("z", vector({0}));
    CHECK(many.failure() == "Gelu has no output 'z'");
}

TEST_CASE("Broken cases fail with a sentence", "[conformance]") {
    Case c("Softmax", 13);
    c.input("x", vector({0})).output("y", vector({1}));
    SECTION("no such file") {
        c.meta()["tensors"]["x"]["file"] = "absent.npy";
        CHECK(c.failure() == "absent.npy cannot be read");
    }
    SECTION("no entry") {
        c.meta()["tensors"].erase("x");
        CHECK(c.failure() == "meta.json names no file for the tensor 'x'");
    }
    SECTION("no op") {
        c.meta().erase("op");
        CHECK(c.failure() == "meta.json has no op");
    }
    SECTION("invalid names") {
        c.meta()["node_inputs"] = {1};
        CHECK(c.failure() == "meta.json: node_inputs holds something that is no name");
    }
    SECTION("not JSON") {
        CHECK(c.failure() == "");
        std::ofstream(c.folder() / "meta.json") << "{";
        CHECK_FALSE(check_case(c.folder()));
    }
    SECTION("not an array") {
        std::ofstream(c.folder() / "x.npy") << "nothing";
        CHECK_THAT(c.failure(), ContainsSubstring("x: "));
    }
}

TEST_CASE("The runner's exit status", "[conformance]") {
    Case c("Softmax", 13);
    c.input("x", vector({0})).output("y", vector({1}));
    CHECK(c.failure() == "");
    CHECK(find_cases(c.folder()).size() == 1);
    CHECK(run_conformance(std::vector{c.folder().string()}) == 0);
    CHECK(run_conformance(std::vector{c.folder().string(), (c.folder() / "absent").string()}) != 0);
    CHECK(run_conformance({}) != 0);

    fs::create_directories(c.folder() / "below" / "deeper");
    fs::copy(c.folder() / "meta.json", c.folder() / "below" / "deeper" / "meta.json");
    CHECK(find_cases(c.folder()).size() == 2);
    CHECK(run_conformance(std::vector{c.folder().string()}) != 0);  // its tensors are missing
}

TEST_CASE("Softmax before opset 13 treats all axes from `axis` on as one", "[conformance]") {
    const Tensor x({1, 2, 2}), quarter({1, 2, 2}, std::vector<float>(4, 0.25f)),
        half({1, 2, 2}, std::vector<float>(4, 0.5f));
    CHECK(Case("Softmax", 11).input("x", x).output("y", quarter).failure() == "");
    CHECK(Case("Softmax", 13).input("x", x).output("y", half).failure() == "");
    CHECK(Case("Softmax", 13, {{"axis", 1}}).input("x", x).output("y", half).failure() == "");
    CHECK(Case("Softmax", 13, {{"axis", 3}}).input("x", x).output("y", half).failure() ==
          "axis 3 is not one of 1×2×2");
}

TEST_CASE("Layer normalisation gives the mean and the inverse deviation, and broadcasts its scale",
          "[conformance]") {
    const Tensor x = matrix(2, 2, {1, 3, 5, 9}), scale = vector({2});
    const Tensor y = matrix(2, 2, {-2, 2, -2, 2});
    CHECK(Case("LayerNormalization", 17, {{"epsilon", 0.0}})
              .input("X", x)
              .input("W", scale)
              .output("Y", y)
              .output("Mean", matrix(2, 1, {2, 7}))
              .output("InvStdDev", matrix(2, 1, {1, 0.5f}))
              .failure() == "");
    CHECK_THAT(
        Case("LayerNormalization", 17).input("X", x).input("W", vector({1, 2, 3})).output("Y", y).failure(),
        ContainsSubstring("a scale or bias of 3 does not broadcast"));
    // This scale varies only along the first of the two normalised axes.
    CHECK(Case("RMSNormalization", 23, {{"axis", 0}, {"epsilon", 0.0}})
              .input("X", matrix(2, 2, {1, 1, 1, 1}))
              .input("W", matrix(2, 1, {2, 3}))
              .output("Y", matrix(2, 2, {2, 2, 3, 3}))
              .failure() == "");
}

TEST_CASE("Rotary embedding of rank 3 rotates each head", "[conformance]") {
    // There are two positions and two heads of two components; position 1 is a quarter turn.
    const Tensor x({1, 2, 4}, std::vector<float>{1, 2, 3, 4, 1, 2, 3, 4});
    const Tensor y({1, 2, 4}, std::vector<float>{1, 2, 3, 4, -2, 1, -4, 3});
    const Tensor cosine({1, 2, 1}, std::vector<float>{1, 0}), sine({1, 2, 1}, std::vector<float>{0, 1});
    const auto rotary = [&](json attributes) {
        return Case("RotaryEmbedding", 23, std::move(attributes))
            .input("X", x)
            .input("c", cosine)
            .input("s", sine)
            .output("Y", y)
            .failure();
    };
    CHECK(rotary({{"num_heads", 2}}) == "");
    CHECK_THAT(rotary({{"num_heads", 3}}), ContainsSubstring("num_heads that divides it"));
    CHECK_THAT(rotary(json::object()), ContainsSubstring("num_heads"));
    CHECK_THAT(rotary({{"num_heads", 2}, {"rotary_embedding_dim", 4}}),
               ContainsSubstring("rotary_embedding_dim"));
    CHECK_THAT(rotary({{"num_heads", 1}}), ContainsSubstring("cos_cache is 1×2×1"));
}

TEST_CASE("Swish and SwiGLU take alpha", "[conformance]") {
    const float half_swish = 2 / (1 + std::exp(-1.0f));  // x = 2, alpha = 1/2
    CHECK(Case("Swish", 24, {{"alpha", 0.5}})
              .input("x", vector({2}))
              .output("y", vector({half_swish}))
              .failure() == "");
    CHECK(Case("Swish", 24, {{"alpha", 0}}).input("x", vector({3})).output("y", vector({1.5f})).failure() ==
          "");
    CHECK(Case("SwiGLU", 28, {{"alpha", 0.5}})
              .input("a", vector({2}))
              .input("b", vector({3}))
              .output("y", vector({3 * half_swish}))
              .failure() == "");
}

TEST_CASE("Attention's optional outputs are made on request", "[conformance]") {
    const Tensor q({1, 1, 1, 1}, std::vector<float>{2}), v({1, 1, 1, 1}, std::vector<float>{5});
    Case c("Attention", 24, {{"qk_matmul_output_mode", 3}, {"softmax_precision", 11}});
    c.input("Q", q).input("K", q).input("V", v).output("Y", v).omit_output().omit_output();
    c.output("scores", Tensor({1, 1, 1, 1}, std::vector<float>{1}));
    CHECK(c.failure() == "");
    CHECK_THAT(Case("Attention", 24, {{"softmax_precision", 7}})
                   .input("Q", q)
                   .input("K", q)
                   .input("V", v)
                   .output("Y", v)
                   .failure(),
               ContainsSubstring("softmax_precision 7"));
    CHECK_THAT(Case("Attention", 24, {{"qk_matmul_output_mode", 4}})
                   .input("Q", q)
                   .input("K", q)
                   .input("V", v)
                   .output("Y", v)
                   .omit_output()
                   .omit_output()
                   .output("scores", v)
                   .failure(),
               ContainsSubstring("give 0, 1, 2 or 3"));
}
