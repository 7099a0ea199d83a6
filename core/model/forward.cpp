#include "model/forward.hpp"

#include <algorithm>
#include <limits>

#include "model/forward_run.hpp"

namespace attn {

ForwardPass::ForwardPass(std::unique_ptr<Run> run) : run_(std::move(run)) {}
ForwardPass::ForwardPass(ForwardPass&&) noexcept = default;
ForwardPass& ForwardPass::operator=(ForwardPass&&) noexcept = default;
ForwardPass::~ForwardPass() = default;

namespace {

// Checks one text; `whose` stands before "tokens" in messages: "decoder ".
Status check_ids(const ModelConfig& config, std::span<const std::int32_t> ids, const std::string& whose) {
    if (std::ssize(ids) > config.context)
        return Error{std::to_string(ids.size()) + " " + whose + "tokens are more than the context of " +
                     std::to_string(config.context) + " that this model was made for"};
    for (std::size_t i = 0; i < ids.size(); ++i)
        if (ids[i] < 0 || ids[i] >= config.vocab_size)
            return Error{whose + "token id " + std::to_string(ids[i]) + " at position " + std::to_string(i) +
                         " is outside the vocabulary of " + std::to_string(config.vocab_size)};
    return ok();
}

Status check(const ModelConfig& config, std::span<const std::int32_t> ids,
             std::span<const std::int32_t> segments, std::span<const std::int32_t> decoder_ids) {
    if (ids.empty()) return Error{"there are no token ids to run"};
    if (Status fit = check_ids(config, ids, ""); !fit) return fit;
    if (!decoder_ids.empty() && config.decoder_layers == 0)
        return Error{"this model has no decoder beside an encoder, which decoder ids would be for"};
    if (Status fit = check_ids(config, decoder_ids, "decoder "); !fit) return fit;
    if (!segments.empty() && config.segments == 0)
        return Error{"this model has no segments (token types) that tokens could belong to"};
    if (!segments.empty() && segments.size() != ids.size())
        return Error{std::to_string(segments.size()) + " token types are not one for each of " +
                     std::to_string(ids.size()) + " tokens"};
    for (std::size_t i = 0; i < segments.size(); ++i)
        if (segments[i] < 0 || segments[i] >= config.segments)
            return Error{"token type " + std::to_string(segments[i]) + " at position " + std::to_string(i) +
                         " is none of the model's " + std::to_string(config.segments)};
    const std::int64_t bytes =
        trace_bytes(config, std::ssize(ids), std::max<Index>(1, std::ssize(decoder_ids)));
    if (bytes > std::numeric_limits<Index>::max())
        return Error{"a run of " + std::to_string(ids.size()) + " tokens would keep " +
                     std::to_string(bytes >> 20) + " MiB, more than can be addressed here"};
    return ok();
}

}  // namespace

Result<ForwardPass> ForwardPass::start(Given given) {
    const Network& network = given.model->network();
    if (Status fit = check(given.model->config(), given.ids, given.segments, given.decoder_ids); !fit)
        return fit.error();
    if (!network.encoder) return ForwardPass(std::make_unique<Run>(std::move(given), network));

    if (given.decoder_ids.empty()) given.decoder_ids = {given.model->config().start_id};
    Given encoder = given;
    std::erase_if(encoder.interventions, [&](const Intervention& each) {
        return network.place_of(each.attention).kind != AttentionKind::encoder;
    });
    const auto encoded = given.before ? given.before->encoder() : nullptr;
    const bool masks_encoder = given.mask && given.mask->kind == AttentionKind::encoder;
    if (!masks_encoder) encoder.mask = encoded ? encoded->mask() : std::nullopt;
    if (masks_encoder) given.mask.reset();
    const bool same_text = encoded && std::ranges::equal(encoded->ids(), given.ids),
               shares = same_text && encoded->interventions() == encoder.interventions;
    encoder.before = same_text ? encoded : nullptr;
    Run::Encoded read{encoded, nullptr};
    if (!shares) read.run = std::make_unique<Run>(std::move(encoder), *network.encoder);
    given.ids = std::move(given.decoder_ids);
    if (!shares) given.before = nullptr;
    auto run = std::make_unique<Run>(std::move(given), network);
    run->read(std::move(read));
    return ForwardPass(std::move(run));
}

Result<ForwardPass> ForwardPass::start(std::shared_ptr<const Model> model, std::vector<std::int32_t> ids,
                                       const Kernels& kernels, double slice_operations,
                                       std::vector<std::int32_t> segments,
                                       std::vector<std::int32_t> decoder_ids) {
    return start({.model = std::move(model),
                  .ids = std::move(ids),
                  .segments = std::move(segments),
                  .decoder_ids = std::move(decoder_ids),
                  .kernels = &kernels,
                  .slice_operations = slice_operations});
}

Result<ForwardPass> ForwardPass::start_under(Mask mask, std::shared_ptr<const Model> model,
                                             std::vector<std::int32_t> ids, const Kernels& kernels,
                                             double slice_operations, std::vector<std::int32_t> segments,
                                             std::vector<std::int32_t> decoder_ids, AttentionKind kind) {
    const bool two = model->network().encoder != nullptr;
    if (two == (kind == AttentionKind::self))
        return Error{two ? "a mask of an encoder–decoder is of one of its three kinds of attention; say which"
                         : "this model has one kind of attention, and the mask is of another"};
    return start({.model = std::move(model),
                  .ids = std::move(ids),
                  .segments = std::move(segments),
                  .decoder_ids = std::move(decoder_ids),
                  .kernels = &kernels,
                  .slice_operations = slice_operations,
                  .mask = RunMask{std::move(mask), kind}});
}

Result<ForwardPass> ForwardPass::start(const std::shared_ptr<const Trace>& before,
                                       std::vector<std::int32_t> ids, double slice_operations,
                                       std::vector<std::int32_t> decoder_ids) {
    return start({.model = before->model(),
                  .ids = std::move(ids),
                  .decoder_ids = std::move(decoder_ids),
                  .kernels = &before->kernels(),
                  .slice_operations = slice_operations,
                  .before = before,
                  .interventions = before->interventions_,
                  .mask = before->mask_});
}

Result<ForwardPass> ForwardPass::start_with(const std::vector<Intervention>& interventions,
                                            const std::shared_ptr<const Trace>& before,
                                            double slice_operations) {
    auto taken = resolved(interventions, *before);
    if (!taken) return taken.error();
    const Trace& text = before->encoder() ? *before->encoder() : *before;
    return start({.model = before->model(),
                  .ids = text.ids_,
                  .segments = text.segments_,
                  .decoder_ids = before->encoder() ? before->ids_ : std::vector<std::int32_t>{},
                  .kernels = &before->kernels(),
                  .slice_operations = slice_operations,
                  .before = before,
                  .interventions = *std::move(taken),
                  .mask = before->mask_});
}

bool ForwardPass::step() { return run_->step(); }

float ForwardPass::progress() const {
    // Where all tokens are kept there is nothing to compute.
    return run_->operations == 0 ? 1 : static_cast<float>(run_->operations_done / run_->operations);
}

Result<std::shared_ptr<const Trace>> ForwardPass::finish() {
    while (step()) {
    }
    if (run_->failure) return *run_->failure;
    return std::shared_ptr<const Trace>(std::move(run_->trace));
}

Result<std::shared_ptr<const Trace>> run_forward(std::shared_ptr<const Model> model,
                                                 std::vector<std::int32_t> ids, const Kernels& kernels,
                                                 std::vector<std::int32_t> segments,
                                                 std::vector<std::int32_t> decoder_ids) {
    auto forward =
        ForwardPass::start(std::move(model), std::move(ids), kernels, std::numeric_limits<double>::infinity(),
                           std::move(segments), std::move(decoder_ids));
    if (!forward) return forward.error();
    return forward->finish();
}

}  // namespace attn
