#include "model/forward.hpp"

#include <algorithm>
#include <limits>

#include "model/block.hpp"
#include "model/experts.hpp"
#include "model/kept_rows.hpp"

namespace attn {

// This is not the walk of train/network.cpp, because it goes in slices, and because it keeps only what a Trace shows:
// the MLP is activated within its product. To keep it unactivated as well, as training does, takes a quarter more
// memory at least, and for 1,024 tokens 7 % more time.
struct Forward::Run {
    // Of one stack of layers.
    Run(Given given, const Network& network);
    // A decoder's, after what an encoder ran, or runs first.
    struct Encoded {
        std::shared_ptr<const Trace> trace;
        std::unique_ptr<Run> run;
    };
    void read(Encoded encoded);

    struct Slice {
        void (Run::*work)(const Slice&);
        Index layer = 0;
        Range tokens;
        double operations = 0;
        bool cross = false;  // of the layer's attentions
    };

    // Cuts work on these tokens, at so many operations each, into slices of about slice_operations.
    void plan(void (Run::*work)(const Slice&), Range tokens, Index layer, double operations_per_token,
              bool cross = false);
    void plan_all();
    void plan_attention(Index layer, bool cross);
    void plan_layer(Index layer);
    bool step();

    void enter(const Slice&);
    void turn_positions(const Slice&);
    void embed(const Slice&);
    void enter_attention(const Slice&);
    void project(const Slice&);
    void project_encoded(const Slice&);
    void prepare(const Slice&);
    void attend(const Slice&);
    void leave_attention(const Slice&);
    void fill_hidden(const Slice&);
    void leave_mlp(const Slice&);
    void run_experts(const Slice&);
    void leave_block(const Slice&);
    void leave(const Slice&);
    void finish(const Slice&);

    // Changes the slice's rows of a site, of one matrix or of heads.
    void change(const Slice& slice, Site site, HeadsView<float> rows);
    void change(const Slice& slice, Site site, MatrixView<float> rows) {
        change(slice, site, {rows.data, 1, rows.rows, rows.cols, 0, rows.row_stride});
    }
    // The attention that a slice works on, as the model counts them.
    Index number_of(const Slice& slice) const;

    Index kept_in(Index l, BlockStep step) const { return kept.rows(l, step); }
    // Returns a tensor for all tokens, which lie along that axis, with so many rows of the one before.
    Tensor begun(const Tensor* of_before, Index axis, Index rows, Shape shape) const {
        return of_before ? of_before->continued(axis, rows, trace->tokens(), room) : Tensor(std::move(shape));
    }
    Tensor begun(Tensor Trace::* part, Index rows) const {
        return begun(before ? &(before.get()->*part) : nullptr, 0, rows,
                     width(trace->model_->config().d_model));
    }
    Tensor begun(Index l, BlockStep step, Tensor LayerTrace::* part, Index columns) const {
        return begun(before ? &(layer_before(l).*part) : nullptr, 0, kept_in(l, step), width(columns));
    }
    Tensor begun(const Slice& slice, BlockStep step, Tensor AttentionTrace::* part, Index columns) const {
        return begun(before ? &(attention_before(slice).*part) : nullptr, 0, kept_in(slice.layer, step),
                     width(columns));
    }
    const LayerTrace& layer_before(Index l) const { return before->layers_[static_cast<std::size_t>(l)]; }
    const AttentionTrace& attention_before(const Slice& slice) const {
        const LayerTrace& layer = layer_before(slice.layer);
        return slice.cross ? *layer.cross : layer;
    }
    // What a layer reads, which the one before it writes; the last one leaves it as the final residual.
    Tensor begun_residual(Index l) const {
        const ModelConfig& config = trace->model_->config();
        const Index rows = l == 0 ? kept.embedded() : kept_in(l - 1, BlockStep::mlp);
        if (l == std::ssize(network().blocks)) return begun(&Trace::final_residual_, rows);
        return begun(before ? &layer_before(l).residual_in : nullptr, 0, rows, width(config.d_model));
    }
    Shape width(Index columns) const { return {trace->tokens(), columns}; }

    // The slice's rows of a matrix that may be empty.
    static MatrixView<float> part(Tensor& tensor, const Slice& slice) {
        return tensor.size() > 0 ? rows(tensor.matrix(), slice.tokens) : MatrixView<float>{};
    }

    const Network& network() const { return *trace->network_; }
    const Block& block(const Slice& slice) const {
        return network().blocks[static_cast<std::size_t>(slice.layer)];
    }
    const AttentionHalf& half(const Slice& slice) const {
        return slice.cross ? *block(slice).cross : block(slice);
    }
    LayerTrace& layer(const Slice& slice) { return trace->layers_[static_cast<std::size_t>(slice.layer)]; }
    AttentionTrace& attention(const Slice& slice) {
        LayerTrace& all = layer(slice);
        return slice.cross ? *all.cross : all;
    }
    // The run of whose rows K and V are made.
    const Trace& keys(bool cross) const { return cross ? *trace->encoder_ : *trace; }

    std::shared_ptr<Trace> trace;
    std::unique_ptr<Run> encoder;  // while it runs
    std::shared_ptr<const Trace> before;
    KeptRows kept;
    Index room = 0;                       // tokens
    std::vector<std::int32_t> positions;  // of all tokens: their rows in the table
    RotaryTables rotary;                  // of the tokens that are not kept
    Bias bias;                            // of the text's distances, if the network has such
    // Of the attention that is being computed, until its AttentionTrace holds them.
    Tensor residual, normalised, q, k, v;
    double slice_operations;
    std::vector<Slice> slices;
    std::size_t next = 0;
    double operations_done = 0, operations = 0;
    std::optional<Error> failure;
};

namespace {

constexpr Index operations_per_angle = 200;  // that a sine and a cosine take as long as

// A run that was continued once has room for so many tokens, so that the next ones need not copy it.
Index room_for(Index tokens, Index context) {
    return std::min(context, tokens + std::max(Index{16}, tokens / 8));
}

}  // namespace

Forward::Run::Run(Given given, const Network& network)
    : trace(new Trace), before(std::move(given.before)), slice_operations(given.slice_operations) {
    const Index n = std::ssize(given.ids);
    trace->ids_ = std::move(given.ids);
    trace->segments_ = std::move(given.segments);
    trace->kernels_ = given.kernels;
    trace->model_ = std::move(given.model);
    trace->network_ = &network;
    trace->interventions_ = std::move(given.interventions);
    trace->mask_ = std::move(given.mask);

    kept = KeptRows(*trace, before.get());
    room = before && before->tokens() == n ? n : room_for(n, trace->model_->config().context);
    rotary = RotaryTables(network, {kept.at_end(), n});
    if (network.relative_bias) bias = relative_bias_of(*network.relative_bias, n);
    positions = position_rows(network, trace->ids_);
    if (!network.encoder) plan_all();
}

void Forward::Run::read(Encoded encoded) {
    encoder = std::move(encoded.run);
    trace->encoder_ = encoder ? encoder->trace : std::move(encoded.trace);
    if (encoder) operations = encoder->operations;
    plan_all();
}

void Forward::Run::plan_all() {
    const ModelConfig& config = trace->model_->config();
    const Network& network = this->network();
    const Index n = trace->tokens();
    Index pairs = 0;
    for (const Rotary& each : network.rotary) pairs += each.pairs();
    const Index projected = network.project_in ? 2 * network.project_in->weight.in : 0;
    slices.push_back({&Run::enter, 0, {}, 0});
    if (pairs > 0)
        plan(&Run::turn_positions, {kept.at_end(), n}, 0, static_cast<double>(operations_per_angle * pairs));
    plan(&Run::embed, {kept.embedded(), n}, 0, static_cast<double>((1 + projected) * config.d_model));
    for (Index l = 0; l < std::ssize(network.blocks); ++l) plan_layer(l);
    slices.push_back({&Run::leave, 0, {}, 0});
    const Index at_head = has_head_input(network) ? 2 * network.head.weight.in : 0;
    plan(&Run::finish, {kept.at_end(), n}, 0, static_cast<double>((1 + at_head) * config.d_model));
}

void Forward::Run::plan(void (Run::*work)(const Slice&), Range all, Index l, double operations_per_token,
                        bool cross) {
    const double most = std::max(1.0, slice_operations / operations_per_token);
    const Index step = most < static_cast<double>(all.end) ? static_cast<Index>(most) : all.end;
    for (Index begin = all.begin; begin < all.end; begin += step) {
        const Range tokens{begin, std::min(all.end, begin + step)};
        slices.push_back({work, l, tokens, operations_per_token * static_cast<double>(tokens.size()), cross});
        operations += slices.back().operations;
    }
}

void Forward::Run::plan_attention(Index l, bool cross) {
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

void Forward::Run::plan_layer(Index l) {
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

void Forward::Run::enter(const Slice&) {
    const Network& network = this->network();
    const auto begin = [&](Tensor Trace::* part) { trace.get()->*part = begun(part, kept.embedded()); };
    begin(&Trace::token_embedding_);
    if (network.position_embedding) begin(&Trace::position_embedding_);
    if (network.segment_embedding) begin(&Trace::segment_embedding_);
    if (network.embedding_norm) begin(&Trace::embedding_sum_);
    residual = begun_residual(0);
}

void Forward::Run::turn_positions(const Slice& slice) {
    rotary.fill(network(), slice.tokens, trace->tokens());
}

void Forward::Run::change(const Slice& slice, Site site, HeadsView<float> rows) {
    const Index number = number_of(slice);
    for (const Intervention& each : trace->interventions_)
        if (is_at(each, trace->model_->network(), number, site))
            attn::change(each.edit, rows, slice.tokens.begin);
}

Index Forward::Run::number_of(const Slice& slice) const {
    const Network& model = trace->model_->network();
    const Index layers = std::ssize(network().blocks);
    if (&network() != &model) return slice.layer;
    return model.attentions() - (slice.cross ? 1 : model.encoder ? 2 : 1) * layers + slice.layer;
}

void Forward::Run::embed(const Slice& slice) {
    const Network& network = this->network();
    const auto begin = static_cast<std::size_t>(slice.tokens.begin);
    const auto count = static_cast<std::size_t>(slice.tokens.size());
    const auto of_slice = [&](std::span<const std::int32_t> all) {
        return all.empty() ? all : all.subspan(begin, count);
    };
    attn::embed(*trace->kernels_, network, of_slice(trace->ids_), of_slice(trace->segments_),
                of_slice(positions),
                {.token = part(trace->token_embedding_, slice),
                 .position = part(trace->position_embedding_, slice),
                 .segment = part(trace->segment_embedding_, slice),
                 .sum = part(trace->embedding_sum_, slice),
                 .residual = part(residual, slice)});
    change(slice, Site::residual_in, part(residual, slice));
}

void Forward::Run::enter_attention(const Slice& slice) {
    const ModelConfig& config = trace->model_->config();
    const Record* attention = before ? &attention_before(slice).attention : nullptr;
    const BlockStep step = of_half(BlockStep::project, slice.cross);
    const auto heads = [&](const Tensor& (Record::*of)() const, Index count) {
        return begun(attention ? &(attention->*of)() : nullptr, 1, kept_in(slice.layer, step),
                     {count, trace->tokens(), config.head_dim});
    };
    const auto of_encoded = [&](const Tensor& (Record::*of)() const) {
        const Index n = trace->encoder_->tokens();
        return attention ? (attention->*of)().continued(1, kept.encoded(slice.layer), n, n)
                         : Tensor({config.kv_heads, n, config.head_dim});
    };
    normalised = begun(slice, step, &AttentionTrace::attention_input, config.d_model);
    q = heads(&Record::q, config.heads);
    k = slice.cross ? of_encoded(&Record::k) : heads(&Record::k, config.kv_heads);
    v = slice.cross ? of_encoded(&Record::v) : heads(&Record::v, config.kv_heads);
}

void Forward::Run::project(const Slice& slice) {
    const MatrixView<float> input = rows(normalised.matrix(), slice.tokens);
    const HeadsView<float> of_q = rows(q.heads(), slice.tokens);
    enter_half(*trace->kernels_, half(slice).attention_norm, rows(residual.matrix(), slice.tokens), input);
    if (slice.cross) {
        project_cross_q(*trace->kernels_, half(slice), input, of_q);
    } else {
        const HeadsView<float> of_k = rows(k.heads(), slice.tokens), of_v = rows(v.heads(), slice.tokens);
        project_qkv(*trace->kernels_, half(slice), input, rotary.of(half(slice), slice.tokens),
                    {of_q, of_k, of_v});
        change(slice, Site::k, of_k);
        change(slice, Site::v, of_v);
    }
    change(slice, Site::q, of_q);
}

void Forward::Run::project_encoded(const Slice& slice) {
    const HeadsView<float> of_k = rows(k.heads(), slice.tokens), of_v = rows(v.heads(), slice.tokens);
    project_cross_kv(*trace->kernels_, half(slice), rows(trace->encoder_->final_norm_.matrix(), slice.tokens),
                     of_k, of_v);
    change(slice, Site::k, of_k);
    change(slice, Site::v, of_v);
}

void Forward::Run::prepare(const Slice& slice) {
    const std::vector<Intervention>& interventions = trace->interventions_;
    const Index number = number_of(slice);
    AttentionSpec spec;
    spec.scale = half(slice).scale;
    spec.softcap = half(slice).softcap;
    const bool masked = trace->mask_ && (trace->mask_->kind == AttentionKind::cross) == slice.cross;
    spec.mask = changed_mask(masked ? trace->mask_->mask : mask_of(half(slice)), interventions, number,
                             q.dim(0), q.dim(1), k.dim(1));
    spec.edits = cell_edits(interventions, number);
    if (!slice.cross) spec.bias = bias;
    auto record =
        Record::prepare(std::move(q), std::move(k), std::move(v), std::move(spec), *trace->kernels_);
    if (!record) {
        failure = record.error();
        return;
    }
    const Index l = slice.layer, d = trace->model_->config().d_model, d_ff = trace->model_->config().d_ff;
    const BlockStep attend = of_half(BlockStep::attend, slice.cross),
                    leave = of_half(BlockStep::leave, slice.cross);
    if (before) record->take_rows(attention_before(slice).attention, kept_in(l, attend), room);
    const auto has_between = [](const AfterHalf& norms) { return norms.sum_norm || norms.added_norm; };
    AttentionTrace here{.residual_in = std::move(residual),
                        .attention_input = std::move(normalised),
                        .attention = std::move(*record),
                        .attention_output = begun(slice, leave, &AttentionTrace::attention_output, d),
                        .attention_between = has_between(after_attention(half(slice)))
                                                 ? begun(slice, leave, &AttentionTrace::attention_between, d)
                                                 : Tensor()};
    if (slice.cross) {
        layer(slice).cross = std::move(here);
        residual = begun_residual(l + 1);
        return;
    }
    const Block& at = block(slice);
    const Index experts = at.experts ? at.experts->per_token : 0;
    const auto of_experts = [&](Tensor LayerTrace::* which) {
        return at.experts ? begun(l, BlockStep::mlp, which, experts) : Tensor();
    };
    LayerTrace& added = trace->layers_.emplace_back(std::move(here));
    added.residual_middle = begun(l, leave_step(at), &LayerTrace::residual_middle, d);
    added.mlp_input = begun(l, leave_step(at), &LayerTrace::mlp_input, d);
    added.chosen_experts = of_experts(&LayerTrace::chosen_experts);
    added.expert_weights = of_experts(&LayerTrace::expert_weights);
    added.mlp_hidden = begun(l, hidden_step(at), &LayerTrace::mlp_hidden, at.experts ? experts * d_ff : d_ff);
    added.mlp_output = begun(l, BlockStep::mlp, &LayerTrace::mlp_output, d);
    if (has_between(after_mlp(at))) added.mlp_between = begun(l, BlockStep::mlp, &LayerTrace::mlp_between, d);
    residual = at.cross ? begun({.work = nullptr, .layer = l, .tokens = {}, .cross = true}, BlockStep::leave,
                                &AttentionTrace::residual_in, d)
                        : begun_residual(l + 1);
}

void Forward::Run::attend(const Slice& slice) {
    Record& record = attention(slice).attention;
    record.compute(slice.tokens);
    change(slice, Site::head_output, rows(record.output_to_change(), slice.tokens));
}

void Forward::Run::leave_attention(const Slice& slice) {
    LayerTrace& l = layer(slice);
    AttentionTrace& of = attention(slice);
    const bool cross_follows = !slice.cross && block(slice).cross;
    const auto output = rows(of.attention_output.matrix(), slice.tokens);
    const auto sum = rows((cross_follows ? residual : l.residual_middle).matrix(), slice.tokens);
    merge_heads(*trace->kernels_, half(slice), rows(of.attention.output().heads(), slice.tokens), output);
    change(slice, Site::attention_output, output);
    const MatrixView<float> residual_in = rows(of.residual_in.matrix(), slice.tokens);
    leave_half(*trace->kernels_, after_attention(half(slice)), residual_in, output,
               part(of.attention_between, slice), sum);
    if (cross_follows) {
        Slice of_cross = slice;
        of_cross.cross = true;
        return change(of_cross, Site::residual_in, sum);
    }
    change(slice, Site::residual_middle, sum);
    enter_half(*trace->kernels_, block(slice).mlp_norm, block(slice).parallel ? residual_in : sum,
               rows(l.mlp_input.matrix(), slice.tokens));
}

void Forward::Run::fill_hidden(const Slice& slice) {
    LayerTrace& l = layer(slice);
    mlp_hidden(*trace->kernels_, block(slice).mlp, trace->model_->config().activation,
               rows(l.mlp_input.matrix(), slice.tokens), rows(l.mlp_hidden.matrix(), slice.tokens));
}

void Forward::Run::leave_mlp(const Slice& slice) {
    LayerTrace& l = layer(slice);
    apply(*trace->kernels_, block(slice).mlp.down, rows(l.mlp_hidden.matrix(), slice.tokens),
          rows(l.mlp_output.matrix(), slice.tokens));
    leave_block(slice);
}

void Forward::Run::run_experts(const Slice& slice) {
    LayerTrace& l = layer(slice);
    const ConstMatrix input = rows(l.mlp_input.matrix(), slice.tokens);
    const ExpertRows experts{part(l.chosen_experts, slice), part(l.expert_weights, slice)};
    choose_experts(*trace->kernels_, *block(slice).experts, input, experts);
    attn::run_experts(*trace->kernels_, *block(slice).experts, trace->model_->config().activation, input,
                      experts, part(l.mlp_hidden, slice), part(l.mlp_output, slice));
    leave_block(slice);
}

void Forward::Run::leave_block(const Slice& slice) {
    LayerTrace& l = layer(slice);
    const MatrixView<float> output = rows(l.mlp_output.matrix(), slice.tokens),
                            sum = rows(residual.matrix(), slice.tokens);
    change(slice, Site::mlp_output, output);
    leave_half(*trace->kernels_, after_mlp(block(slice)), rows(l.residual_middle.matrix(), slice.tokens),
               output, part(l.mlp_between, slice), sum);
    change(slice, Site::residual_out, sum);
    Slice above = slice;
    if (++above.layer < std::ssize(network().blocks)) change(above, Site::residual_in, sum);
}

void Forward::Run::leave(const Slice&) {
    trace->final_residual_ = std::move(residual);
    trace->final_norm_ = begun(&Trace::final_norm_, kept.at_end());
    const Network& network = this->network();
    if (has_head_input(network))
        trace->head_input_ =
            begun(before ? &before->head_input_ : nullptr, 0, kept.at_end(), width(network.head.weight.in));
}

void Forward::Run::finish(const Slice& slice) {
    const Network& network = this->network();
    const MatrixView<float> normal = part(trace->final_norm_, slice);
    enter_half(*trace->kernels_, network.final_norm, rows(trace->final_residual_.matrix(), slice.tokens),
               normal);
    if (has_head_input(network))
        copy(head_input(*trace->kernels_, network, normal).matrix(), part(trace->head_input_, slice));
}

bool Forward::Run::step() {
    Run& stack = encoder ? *encoder : *this;
    if (failure || stack.next == stack.slices.size()) return false;
    const Slice& slice = stack.slices[stack.next++];
    (stack.*slice.work)(slice);
    operations_done += slice.operations;
    failure = stack.failure;
    if (&stack != this && stack.next == stack.slices.size()) encoder.reset();
    return !failure && next < slices.size();
}

Forward::Forward(std::unique_ptr<Run> run) : run_(std::move(run)) {}
Forward::Forward(Forward&&) noexcept = default;
Forward& Forward::operator=(Forward&&) noexcept = default;
Forward::~Forward() = default;

namespace {

// Of one text; `whose` is before its tokens: "decoder ".
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

Result<Forward> Forward::start(Given given) {
    const Network& network = given.model->network();
    if (Status fit = check(given.model->config(), given.ids, given.segments, given.decoder_ids); !fit)
        return fit.error();
    if (!network.encoder) return Forward(std::make_unique<Run>(std::move(given), network));

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
    return Forward(std::move(run));
}

Result<Forward> Forward::start(std::shared_ptr<const Model> model, std::vector<std::int32_t> ids,
                               const Kernels& kernels, double slice_operations,
                               std::vector<std::int32_t> segments, std::vector<std::int32_t> decoder_ids) {
    return start({.model = std::move(model),
                  .ids = std::move(ids),
                  .segments = std::move(segments),
                  .decoder_ids = std::move(decoder_ids),
                  .kernels = &kernels,
                  .slice_operations = slice_operations});
}

Result<Forward> Forward::start_under(Mask mask, std::shared_ptr<const Model> model,
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

Result<Forward> Forward::start(const std::shared_ptr<const Trace>& before, std::vector<std::int32_t> ids,
                               double slice_operations, std::vector<std::int32_t> decoder_ids) {
    return start({.model = before->model(),
                  .ids = std::move(ids),
                  .decoder_ids = std::move(decoder_ids),
                  .kernels = &before->kernels(),
                  .slice_operations = slice_operations,
                  .before = before,
                  .interventions = before->interventions_,
                  .mask = before->mask_});
}

Result<Forward> Forward::start_with(const std::vector<Intervention>& interventions,
                                    const std::shared_ptr<const Trace>& before, double slice_operations) {
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

bool Forward::step() { return run_->step(); }

float Forward::progress() const {
    // Where all tokens are kept there is nothing to compute.
    return run_->operations == 0 ? 1 : static_cast<float>(run_->operations_done / run_->operations);
}

Result<std::shared_ptr<const Trace>> Forward::finish() {
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
        Forward::start(std::move(model), std::move(ids), kernels, std::numeric_limits<double>::infinity(),
                       std::move(segments), std::move(decoder_ids));
    if (!forward) return forward.error();
    return forward->finish();
}

}  // namespace attn
