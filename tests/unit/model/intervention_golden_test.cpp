// Compares runs under interventions with PyTorch in float64 and forward hooks:
// tests/golden/interventions/generate.py.
#include "io/npz.hpp"
#include "model/double_run.hpp"
#include "model/forward.hpp"
#include "models.hpp"
#include "support/npz.hpp"

using namespace attn;
using namespace attn::test;
using nlohmann::json;

namespace {

std::filesystem::path hooks_folder() { return source_dir() / "tests/golden/interventions"; }

std::shared_ptr<const Trace> run_of_ids(const std::shared_ptr<const Model>& model, const json& ids) {
    const auto trace = run_forward(model, ids.get<std::vector<std::int32_t>>());
    REQUIRE(trace);
    return *trace;
}

Intervention intervention_of(const json& text, const std::vector<std::shared_ptr<const Trace>>& texts) {
    const std::map<std::string, Operation> operations{
        {"zero", Operation::zero},  {"scale", Operation::scale}, {"add", Operation::add},
        {"set", Operation::set},    {"mean", Operation::mean},   {"mean_of_texts", Operation::mean_of_texts},
        {"patch", Operation::patch}};
    Intervention each{.attention = text["attention"].get<Index>(),
                      .site = *site_by_key(text["site"].get<std::string>())};
    Edit& edit = each.edit;
    edit.operation = operations.at(text["operation"].get<std::string>());
    if (text.contains("head")) edit.head = text["head"].get<Index>();
    const auto places = [&](const char* key) { return text.value(key, std::vector<Index>()); };
    edit.rows = places("rows");
    edit.columns = places("columns");
    edit.from_rows = places("from_rows");
    edit.values = text.value("values", std::vector<float>());
    if (edit.operation == Operation::mean_of_texts) each.from = texts;
    if (edit.operation == Operation::patch) each.from = {texts.front()};
    return each;
}

}  // namespace

TEST_CASE("every operation at every site matches a hook in PyTorch", "[golden][model]") {
    const std::string name = GENERATE("gpt2-f32", "llama3-scaled-f32");
    CAPTURE(name);
    const Bytes text = read_file(hooks_folder() / "cases.json"),
                packed = read_file(hooks_folder() / (name + ".npz"));
    const json all = json::parse(reinterpret_cast<const char*>(text.data()),
                                 reinterpret_cast<const char*>(text.data()) + text.size());
    const auto arrays = parse_npz(packed);
    REQUIRE(arrays);
    const Tensor logits = array_of(*arrays, "logits"), weights = array_of(*arrays, "weights");
    const auto model = load(golden_folder(name));
    const auto trace = run_of_ids(model, all["ids"]);
    const std::vector<std::shared_ptr<const Trace>> texts{run_of_ids(model, all["texts"][0]),
                                                          run_of_ids(model, all["texts"][1])};
    const auto part = [](const Tensor& tensor, std::size_t i) {
        const auto size = static_cast<std::size_t>(tensor.size() / tensor.dim(0));
        return tensor.values().subspan(i * size, size);
    };
    REQUIRE(static_cast<Index>(all[name].size()) == logits.dim(0));
    for (std::size_t i = 0; i < all[name].size(); ++i) {
        const json& each = all[name][i];
        CAPTURE(each.dump());
        auto forward = ForwardPass::start_with({intervention_of(each, texts)}, trace);
        REQUIRE(forward);
        const auto run = forward->finish();
        REQUIRE(run);
        // Activations of these models are within ±10, and f32 kernels leave 2e-5 of the logits
        // (golden_test.cpp).
        const Tensor got = (*run)->logits({trace->tokens() - 3, trace->tokens()});
        CHECK(deviation(got.values(), part(logits, i)) < 2e-5);
        const Record& record = (*run)->attention(each["attention"].get<Index>()).record();
        const Tensor got_weights = weights_of(record);
        CHECK(deviation(got_weights.values(), part(weights, i)) < 2e-6);
        // The run in double equals PyTorch's, which was rounded to f32 once; means and patches are numbers of
        // f32 runs.
        REQUIRE(DoubleRun::repeats(**run));
        DoubleRun exact(*run);
        while (exact.step()) continue;
        const auto& edit = (*run)->interventions().front().edit;
        const bool from_f32 = edit.operation >= Operation::mean;
        const std::span<const float> expected = part(logits, i);
        double off = 0;
        for (std::size_t at = 0; at < expected.size(); ++at) {
            const auto width = expected.size() / 3;
            const double expects = static_cast<double>(expected[at]);
            const auto value =
                exact.value(0, Stage::logit, 0, trace->tokens() - 3 + static_cast<Index>(at / width),
                            static_cast<Index>(at % width));
            REQUIRE(value);
            off = std::max(off, std::abs(*value - expects) / (from_f32 ? 1 : std::abs(expects) + 1e-30));
        }
        CHECK(off <= (from_f32 ? 1e-5 : 0x1p-24 * (1 + 1e-6)));
    }
}
