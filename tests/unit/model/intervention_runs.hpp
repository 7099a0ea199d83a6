// Makes runs under interventions, and compares them.
#pragma once

#include <cstring>

#include "model/intervention.hpp"
#include "support/small_families.hpp"

namespace attn::test {

inline const std::vector<std::int32_t> changed_ids{3, 1, 4, 1, 5, 9, 2, 6};
inline const std::vector<std::int32_t> twin_ids{8, 1, 7, 1, 2, 9, 4, 11};

inline constexpr std::array vector_sites{Site::resid_pre, Site::q,           Site::k,
                                         Site::v,         Site::head_output, Site::attention_output,
                                         Site::resid_mid, Site::mlp_output,  Site::resid_post};
inline std::shared_ptr<const Trace> run_of_text(const std::shared_ptr<const Model>& model,
                                                const std::vector<std::int32_t>& of = changed_ids) {
    auto trace = run_text(model, of);
    REQUIRE(trace);
    return *trace;
}

inline std::shared_ptr<const Trace> run_with(const std::vector<Intervention>& interventions,
                                             const std::shared_ptr<const Trace>& before,
                                             double slice = operations_of_a_frame) {
    auto forward = ForwardPass::start_with(interventions, before, slice);
    INFO((forward ? "" : forward.error().message));
    REQUIRE(forward);
    auto trace = forward->finish();
    REQUIRE(trace);
    return *trace;
}

// Compares everything that both runs hold, bit for bit.
inline void check_same(const Trace& a, const Trace& b) {
    const std::vector<NamedTensor> of_a = a.tensors(), of_b = b.tensors();
    REQUIRE(of_a.size() == of_b.size());
    for (std::size_t i = 0; i < of_a.size(); ++i) {
        INFO(of_a[i].name);
        const Tensor x = *of_a[i].tensor, y = *of_b[i].tensor;  // copies are contiguous
        REQUIRE(x.shape() == y.shape());
        CHECK(std::memcmp(x.data(), y.data(), static_cast<std::size_t>(x.size()) * sizeof(float)) == 0);
    }
}

// A run in which every number differs, so that nothing of it can be reused.
inline std::shared_ptr<const Trace> disturbed(const std::shared_ptr<const Trace>& trace) {
    std::vector<Intervention> all{
        {.attention = 0, .site = Site::resid_pre, .edit = {.operation = Operation::scale, .values = {3}}}};
    if (trace->encoder()) {
        all.push_back(all.front());
        all.back().attention = trace->encoder()->attentions();
    }
    return run_with(all, trace);
}

}  // namespace attn::test
