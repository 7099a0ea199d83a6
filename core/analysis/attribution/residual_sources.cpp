#include "analysis/attribution/residual_sources.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <span>
#include <utility>

#include "analysis/attribution/frozen_norm.hpp"
#include "analysis/linalg/vectors.hpp"
#include "model/block.hpp"

namespace attn {

namespace {

// Adds up one row's stream, from the embedding on. Norms are held at the statistics that they had or, without
// a source, live.
class Walk {
  public:
    struct Parts {
        Index number, head;
        std::vector<Source> written;
    };
    struct Without {
        const Source& source;
        std::vector<std::vector<double>> changes;  // in the order of the walk that had all sources
    };

    Walk(const Trace& trace, Index row, Parts* parts = nullptr, const Without* without = nullptr,
         WrittenRows* heads = nullptr)
        : trace_(trace), row_(row), parts_(parts), without_(without), heads_(heads) {}

    void to(const StreamPlace& until) {
        for (const StreamPlace& place : stream_places(trace_)) {
            switch (place.after) {
                case StreamPlace::After::embedding: embed(); break;
                case StreamPlace::After::attention:
                case StreamPlace::After::cross: attend(place); break;
                case StreamPlace::After::mlp: feed_forward(place); break;
            }
            if (place == until) break;
        }
    }

    std::vector<Source> take() { return std::move(sources_); }
    std::vector<std::vector<double>> take_changes() { return std::move(changes_); }
    std::vector<Source> take_parts() {
        const auto begin = sources_.begin() + static_cast<std::ptrdiff_t>(first_part_);
        return {std::make_move_iterator(begin), std::make_move_iterator(begin + part_count_)};
    }

  private:
    void embed() {
        add(SourcePart::token_embedding, row_of(trace_.token_embedding(), row_));
        if (trace_.position_embedding().size() > 0)
            add(SourcePart::position_embedding, row_of(trace_.position_embedding(), row_));
        if (trace_.segment_embedding().size() > 0)
            add(SourcePart::segment_embedding, row_of(trace_.segment_embedding(), row_));
        if (const auto& norm = trace_.network().embedding_norm)
            hold(*norm, row_of(trace_.embedding_sum(), row_), 0, SourcePart::embedding_norm, 0);
        settle({StreamPlace::After::embedding, 0});
    }

    void attend(const StreamPlace& place) {
        const Index number = attention_of(trace_.network(), place);
        const LayerAttention of = trace_.attention(number);
        const std::size_t first = sources_.size();
        for (Index head = 0; head < of.record().heads(); ++head) {
            if (parts_ && parts_->number == number && parts_->head == head) {
                first_part_ = sources_.size();
                part_count_ = std::ssize(parts_->written);
                std::ranges::move(parts_->written, std::back_inserter(sources_));
                continue;
            }
            if (heads_)
                add(SourcePart::head, heads_->at(number, head, row_), number, head);
            else
                add(SourcePart::head, row_of(trace_.head_contribution(number, head, {row_, row_ + 1}), 0),
                    number, head);
        }
        add(SourcePart::attention_bias, of.half.attention_out.bias.values(), number);
        if (is_changed(trace_, row_, number, Site::attention_output))
            add_rest(row_of(of.run.attention_output, row_), first, number);
        leave(place, after_attention(of.half),
              {row_of(of.run.attention_output, row_), of.run.attention_between}, first,
              SourcePart::attention_norm);
    }

    void feed_forward(const StreamPlace& place) {
        const LayerTrace& at = trace_.layers()[static_cast<std::size_t>(place.layer)];
        const Block& block = trace_.network().blocks[static_cast<std::size_t>(place.layer)];
        const std::size_t first = sources_.size();
        add(SourcePart::mlp, row_of(at.mlp_output, row_), attention_of(trace_.network(), place));
        leave(place, after_mlp(block), {row_of(at.mlp_output, row_), at.mlp_between}, first,
              SourcePart::mlp_norm);
    }

    struct HalfRows {
        std::span<const float> output;
        const Tensor& between;
    };

    void add(SourcePart part, std::span<const float> written, Index number = 0, Index head = 0) {
        Source source{part, number, head, -1, {written.begin(), written.end()}};
        if (!written.empty() && !leaves_out(source)) sources_.push_back(std::move(source));
    }

    bool leaves_out(const Source& source) const {
        return without_ && (without_->source.is_bias() ? source.is_bias() : without_->source.is(source));
    }

    // The sources from `first` on go through a norm that is held at the statistics of x.
    void hold(const Norm& norm, std::span<const float> x, std::size_t first, SourcePart bias, Index number) {
        const FrozenNorm held =
            without_ ? FrozenNorm(norm, total_of(std::span(sources_).subspan(first))) : FrozenNorm(norm, x);
        for (std::size_t i = first; i < sources_.size(); ++i)
            sources_[i].written = held.linear(sources_[i].written);
        add(bias, norm.bias.values(), number);
    }

    // Adds what is there beside the sources from `first` on.
    void add_rest(std::span<const float> there, std::size_t first, Index number) {
        std::vector<double> rest(there.begin(), there.end());
        if (without_)
            rest = without_->changes[next_change_++];
        else
            for (std::size_t i = first; i < sources_.size(); ++i)
                std::ranges::transform(rest, sources_[i].written, rest.begin(), std::minus());
        if (!without_) changes_.push_back(rest);
        if (without_ && without_->source.is_change()) return;
        sources_.push_back({SourcePart::change, number, 0, -1, std::move(rest)});
    }

    void leave(const StreamPlace& place, const SublayerNorms& norms, const HalfRows& half, std::size_t first,
               SourcePart bias) {
        const Index number = attention_of(trace_.network(), place);
        if (norms.post_sublayer_norm) hold(*norms.post_sublayer_norm, half.output, first, bias, number);
        if (norms.post_residual_norm)
            hold(*norms.post_residual_norm, row_of(half.between, row_), 0, bias, number);
        settle(place);
    }

    void settle(const StreamPlace& place) {
        if (is_changed(trace_, row_, place))
            add_rest(row_of(stream_after(trace_, place), row_), 0, attention_of(trace_.network(), place));
    }

    const Trace& trace_;
    Index row_;
    Parts* parts_;
    const Without* without_;
    WrittenRows* heads_;
    std::vector<Source> sources_;
    std::vector<std::vector<double>> changes_;
    std::size_t next_change_ = 0;
    std::size_t first_part_ = 0;
    Index part_count_ = 0;
};

}  // namespace

bool is_changed(const Trace& trace, Index row, Index number, Site site) {
    return std::ranges::any_of(trace.interventions(), [&](const Intervention& each) {
        return is_at(each, trace.network(), number, site) && each.edit.touches(0, row);
    });
}

bool is_changed(const Trace& trace, Index row, const StreamPlace& place) {
    using After = StreamPlace::After;
    const Network& network = trace.network();
    const bool at_end = place.after == After::mlp && place.layer + 1 == std::ssize(network.blocks),
               before_cross = place.after == After::attention &&
                              network.blocks[static_cast<std::size_t>(place.layer)].cross.has_value();
    const Index number = attention_of(network, place);
    const Index above = before_cross ? attention_of(network, {After::cross, place.layer})
                        : place.after == After::mlp && !at_end
                            ? attention_of(network, {After::attention, place.layer + 1})
                            : number;
    const auto touched = [&](Index at, Site site) { return is_changed(trace, row, at, site); };
    switch (place.after) {
        case After::embedding: return touched(number, Site::resid_pre);
        case After::attention:
        case After::cross:
            return before_cross ? touched(above, Site::resid_pre) : touched(number, Site::resid_mid);
        case After::mlp: break;
    }
    return touched(number, Site::resid_post) || (!at_end && touched(above, Site::resid_pre));
}

std::vector<double> total_of(std::span<const Source> sources) {
    std::vector<double> sum(sources.empty() ? 0 : sources.front().written.size());
    for (const Source& each : sources) std::ranges::transform(sum, each.written, sum.begin(), std::plus());
    return sum;
}

std::vector<Source> with_biases_joined(std::vector<Source> sources) {
    std::vector<Source> kept, biases, changes;
    for (Source& each : sources) {
        auto& to = each.is_bias() ? biases : each.is_change() ? changes : kept;
        to.push_back(std::move(each));
    }
    if (!biases.empty()) kept.push_back({SourcePart::projection_bias, 0, 0, -1, total_of(biases)});
    if (!changes.empty()) kept.push_back({SourcePart::change, 0, 0, -1, total_of(changes)});
    return kept;
}

std::span<const float> WrittenRows::at(Index number, Index head, Index row) {
    auto found = kept_.find({number, head});
    if (found == kept_.end())
        found = kept_.emplace(std::pair{number, head}, trace_->head_contribution(number, head, rows_)).first;
    return row_of(found->second, row - rows_.begin);
}

std::vector<Source> residual_sources(const Trace& trace, const StreamPlace& place, Index row,
                                     WrittenRows* heads) {
    Walk walk(trace, row, nullptr, nullptr, heads);
    walk.to(place);
    return walk.take();
}

std::vector<Source> arriving_parts(const Trace& trace, const StreamPlace& place, Index row, Index number,
                                   Index head, std::vector<Source> parts) {
    Walk::Parts replaced{number, head, std::move(parts)};
    Walk walk(trace, row, &replaced);
    walk.to(place);
    return walk.take_parts();
}

std::vector<double> stream_without(const Trace& trace, const StreamPlace& place, Index row,
                                   const Source& without) {
    Walk whole(trace, row);
    whole.to(place);
    const Walk::Without left_out{without, whole.take_changes()};
    Walk walk(trace, row, nullptr, &left_out);
    walk.to(place);
    return total_of(walk.take());
}

}  // namespace attn
