#include <algorithm>

#include "model/forward_run.hpp"

namespace attn {

namespace {

constexpr Index operations_per_angle = 200;  // the cost of a sine and a cosine

// A run that was continued once has room for so many tokens, so that the next ones need not copy it.
Index capacity_for(Index tokens, Index context) {
    return std::min(context, tokens + std::max(Index{16}, tokens / 8));
}

}  // namespace

ForwardPass::Run::Run(Given given, const Network& network)
    : trace(new Trace), before(std::move(given.before)), slice_operations(given.slice_operations) {
    const Index n = std::ssize(given.ids);
    trace->ids_ = std::move(given.ids);
    trace->segments_ = std::move(given.segments);
    trace->kernels_ = given.kernels;
    trace->model_ = std::move(given.model);
    trace->network_ = &network;
    trace->interventions_ = std::move(given.interventions);
    trace->mask_ = std::move(given.mask);

    kept = ReusedRows(*trace, before.get());
    capacity = before && before->tokens() == n ? n : capacity_for(n, trace->model_->config().context);
    rotary = RotaryTables(network, {kept.at_end(), n});
    if (network.relative_bias) bias = relative_bias_of(*network.relative_bias, n);
    positions = position_rows(network, trace->ids_);
    if (!network.encoder) plan_all();
}

void ForwardPass::Run::read(Encoded encoded) {
    encoder = std::move(encoded.run);
    trace->encoder_ = encoder ? encoder->trace : std::move(encoded.trace);
    if (encoder) operations = encoder->operations;
    plan_all();
}

void ForwardPass::Run::plan_all() {
    const ModelConfig& config = trace->model_->config();
    const Network& network = this->network();
    const Index n = trace->tokens();
    Index pairs = 0;
    for (const Rotary& each : network.rotary) pairs += each.pairs();
    const Index projected = network.project_in ? 2 * network.project_in->weight.in : 0;
    slices.push_back({&Run::enter, 0, {}, 0});
    if (pairs > 0)
        plan(&Run::fill_rotary, {kept.at_end(), n}, 0, static_cast<double>(operations_per_angle * pairs));
    plan(&Run::embed, {kept.embedded(), n}, 0, static_cast<double>((1 + projected) * config.d_model));
    for (Index l = 0; l < std::ssize(network.blocks); ++l) plan_layer(l);
    slices.push_back({&Run::leave, 0, {}, 0});
    const Index at_head = has_head_input(network) ? 2 * network.head.weight.in : 0;
    plan(&Run::finish, {kept.at_end(), n}, 0, static_cast<double>((1 + at_head) * config.d_model));
}

void ForwardPass::Run::plan(void (Run::*work)(const Slice&), Range all, Index l, double operations_per_token,
                            bool cross) {
    const double most = std::max(1.0, slice_operations / operations_per_token);
    const Index step = most < static_cast<double>(all.end) ? static_cast<Index>(most) : all.end;
    for (Index begin = all.begin; begin < all.end; begin += step) {
        const Range tokens{begin, std::min(all.end, begin + step)};
        slices.push_back({work, l, tokens, operations_per_token * static_cast<double>(tokens.size()), cross});
        operations += slices.back().operations;
    }
}

void ForwardPass::Run::plan_attention(Index l, bool cross) {
    const ModelConfig& config = trace->model_->config();
    const auto d = static_cast<double>(config.d_model);
    const auto q_width = static_cast<double>(config.heads * config.head_dim);
    const auto kv_width = static_cast<double>(config.kv_heads * config.head_dim);
    const Index keys = this->keys(cross).tokens();
    const auto tokens = [&](BlockStep step) {
        return Range{kept_in(l, of_half(step, cross)), trace->tokens()};
    };
    slices.push_back({&Run::enter_attention, l, {}, 0, cross});
    plan(&Run::project, tokens(BlockStep::project), l, 2 * d * (cross ? q_width : q_width + 2 * kv_width),
         cross);
    if (cross) plan(&Run::project_encoded, {kept.encoded(l), keys}, l, 4 * d * kv_width, cross);
    slices.push_back({&Run::prepare, l, {}, 0, cross});
    plan(&Run::attend, tokens(BlockStep::attend), l, 4 * q_width * static_cast<double>(keys), cross);
    plan(&Run::leave_attention, tokens(BlockStep::leave), l, 2 * q_width * d, cross);
}

void ForwardPass::Run::plan_layer(Index l) {
    const ModelConfig& config = trace->model_->config();
    const auto d = static_cast<double>(config.d_model), d_ff = static_cast<double>(config.d_ff);
    const Block& at = network().blocks[static_cast<std::size_t>(l)];
    const double gated = at.mlp.gate ? 2 : 1;

    const auto tokens = [&](BlockStep step) { return Range{kept_in(l, step), trace->tokens()}; };
    plan_attention(l, false);
    if (at.cross) plan_attention(l, true);
    if (at.experts) {
        const auto experts = static_cast<double>(at.experts->per_token);
        return plan(&Run::run_experts, tokens(BlockStep::mlp), l, experts * 6 * d * d_ff);
    }
    plan(&Run::fill_hidden, tokens(BlockStep::hidden), l, 2 * gated * d * d_ff);
    plan(&Run::leave_mlp, tokens(BlockStep::mlp), l, 2 * d_ff * d);
}

bool ForwardPass::Run::step() {
    Run& stack = encoder ? *encoder : *this;
    if (failure || stack.next == stack.slices.size()) return false;
    const Slice& slice = stack.slices[stack.next++];
    (stack.*slice.work)(slice);
    operations_done += slice.operations;
    failure = stack.failure;
    if (&stack != this && stack.next == stack.slices.size()) encoder.reset();
    return !failure && next < slices.size();
}

}  // namespace attn
