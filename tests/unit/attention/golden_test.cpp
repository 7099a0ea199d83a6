// Compares with PyTorch, computed in double by tests/golden/attention/generate.py.

#include <catch_amalgamated.hpp>

#include "attention/multi_head.hpp"
#include "io/json.hpp"
#include "io/npy.hpp"
#include "support/files.hpp"
#include "support/kernels.hpp"
#include "support/numbers.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::WithinAbs;
namespace fs = std::filesystem;

namespace {

// Scores are sums of at most 24 products of standard-normal numbers, weights are below 1 and outputs below 5.
// The error of f32 is a few 1e-7 of that, as in the comparison with the reference kernels.
constexpr double golden_tolerance = 5e-6;

class GoldenCase {
  public:
    explicit GoldenCase(fs::path folder) : folder_(std::move(folder)) {
        const auto bytes = read_file(folder_ / "case.json");
        auto json = parse_json(bytes, "case.json");
        REQUIRE(json);
        json_ = *std::move(json);
    }

    const nlohmann::json& operator[](const char* key) const { return json_.at(key); }
    bool has(const std::string& name) const { return fs::exists(folder_ / (name + ".npy")); }

    // Returns an empty tensor if there is none of that name.
    Tensor tensor(const std::string& name) const {
        if (!has(name)) return {};
        const auto bytes = read_file(folder_ / (name + ".npy"));
        const auto array = parse_npy(bytes);
        REQUIRE(array);
        auto tensor = to_tensor(*array);
        REQUIRE(tensor);
        return *std::move(tensor);
    }

    AttentionSpec spec() const {
        AttentionSpec spec;
        const auto mask = Mask::parse(json_["mask"].get<std::string>());
        REQUIRE(mask);
        spec.mask = *mask;
        spec.softcap = json_.value("softcap", 0.0f);
        if (json_.contains("scale")) spec.scale = json_["scale"].get<float>();
        if (has("bias")) spec.bias.values = std::make_shared<Tensor>(tensor("bias"));
        return spec;
    }

  private:
    fs::path folder_;
    nlohmann::json json_;
};

std::vector<fs::path> folders(const std::string& kind) {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(source_dir() / "tests" / "golden" / "attention"))
        if (entry.is_directory() && GoldenCase(entry.path())["kind"] == kind) found.push_back(entry.path());
    return found;
}

void check_weights(const Record& record, const Tensor& expected) {
    std::vector<float> weights(static_cast<std::size_t>(record.queries() * record.keys()));
    for (Index h = 0; h < record.heads(); ++h) {
        record.stage(Stage::weight, h, {0, record.queries()}, {0, record.keys()}, weights);
        CHECK_THAT(largest_difference(weights, {expected.heads().head(h).data, weights.size()}),
                   WithinAbs(0, golden_tolerance));
    }
}

}  // namespace

TEST_CASE("Attention matches PyTorch", "[golden]") {
    const Kernels& kernels = *GENERATE(from_range(fast_and_reference_kernels()));
    const auto found = folders("attention");
    CHECK(found.size() == 10);
    for (const auto& folder : found) {
        INFO(folder.filename().string());
        const GoldenCase golden(folder);
        const auto record =
            Record::run(golden.tensor("q"), golden.tensor("k"), golden.tensor("v"), golden.spec(), kernels);
        REQUIRE(record);
        CHECK_THAT(largest_difference(record->output().values(), golden.tensor("output").values()),
                   WithinAbs(0, golden_tolerance));
        check_weights(*record, golden.tensor("weights"));
    }
}

TEST_CASE("Multi-head attention matches PyTorch", "[golden]") {
    const Kernels& kernels = *GENERATE(from_range(fast_and_reference_kernels()));
    const auto found = folders("multi_head");
    CHECK(found.size() == 4);
    for (const auto& folder : found) {
        INFO(folder.filename().string());
        const GoldenCase golden(folder);
        const Index heads = golden["heads"].get<Index>();
        MultiHeadWeights weights{heads,
                                 heads,
                                 golden.tensor("w_q"),
                                 golden.tensor("b_q"),
                                 golden.tensor("w_k"),
                                 golden.tensor("b_k"),
                                 golden.tensor("w_v"),
                                 golden.tensor("b_v"),
                                 golden.tensor("w_o"),
                                 golden.tensor("b_o")};
        const auto run = MultiHeadAttention::run(golden.tensor("x_q"), golden.tensor("x_kv"),
                                                 std::move(weights), golden.spec(), kernels);
        REQUIRE(run);
        CHECK_THAT(largest_difference(run->output().values(), golden.tensor("output").values()),
                   WithinAbs(0, golden_tolerance));
        check_weights(run->record(), golden.tensor("weights"));
    }
}
