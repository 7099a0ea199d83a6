#include "lenses/circuits/circuits.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/format.hpp"
#include "model/head_projection.hpp"
#include "subjects/chosen_row.hpp"

namespace attn::app {

namespace {

constexpr Index names_a_step = 256, most_plane_tokens = 192, curve_distances = 64;
constexpr std::size_t usual_wires = 24, most_wires = 240;

}  // namespace

std::optional<Missing> CircuitsLens::missing(Subject& subject) const {
    const auto trace = subject.attention()->trace();
    if (!trace)
        return Missing{
            "A circuit goes from tokens to tokens, which takes a whole model; here is only a head’s "
            "attention."};
    const auto ends = CircuitEnds::of(trace->model());
    if (!ends) return Missing{ends.error().message};
    return std::nullopt;
}

// Results kept here hold a model and a run, so they are released.
void CircuitsLens::follow(const State&, Change) {
    if (trace_ && &visit().lens() != this) forget();
}

void CircuitsLens::forget() {
    trace_.reset();
    circuits_ = {};
    by_distance_.reset();
    copying_.reset();
    composition_.reset();
    wires_ = {};
    virtual_.reset();
    coming_.reset();
    plane_.reset();
    coming_plane_.reset();
    corpus_plane_.reset();
    vocabulary_.follow(nullptr);
    names_.clear();
    position_names_.clear();
    for (ui::MapView& view : views_) view.forget_map();
    shown_ = {};
}

// ---- Inputs -----------------------------------------------------------------------------------------------

Circuit CircuitsLens::circuit_of(CircuitsPart part) const {
    return part == CircuitsPart::ov          ? Circuit::ov
           : part == CircuitsPart::positions ? (uses_rope() ? Circuit::qk : Circuit::positions)
                                             : Circuit::qk;
}

bool CircuitsLens::uses_rope() const { return network().rotary_of(head_.layer) != nullptr; }

Index CircuitsLens::vocabulary_size() const {
    return std::min(network().token_embedding.out, network().head.weight.out);
}

HeadCircuit* CircuitsLens::circuit() {
    if (!trace_ || now().part > CircuitsPart::positions || !refused_.empty()) return nullptr;
    auto& kept = circuits_[static_cast<std::size_t>(circuit_of(now().part))];
    return kept ? &*kept : nullptr;
}

void CircuitsLens::choose_tokens(Subject& subject) {
    const CircuitsState& asked = now();
    const Index vocabulary = vocabulary_size();
    const auto known = [&](std::optional<std::int32_t> token, std::int32_t otherwise) {
        return token && *token < vocabulary ? *token : otherwise;
    };
    const auto ids = trace_->ids();
    const Index query = std::clamp<Index>(chosen_query(subject), 0, std::ssize(ids) - 1);
    Index key = query;
    if (const auto record = subject.attention()->record(head_.layer); record && query < record->queries()) {
        const std::vector<float> weights = record->weights(head_.head, query);
        key = std::min<Index>(std::ranges::max_element(weights) - weights.begin(), std::ssize(ids) - 1);
    }
    tokens_.query = known(asked.query, ids[static_cast<std::size_t>(query)]);
    tokens_.key = known(asked.key, ids[static_cast<std::size_t>(key)]);
    tokens_.output = known(asked.output, tokens_.key);
}

void CircuitsLens::update(Subject& subject) {
    const auto trace = subject.attention()->trace();
    if (!trace_ || trace_->model() != trace->model()) forget();
    trace_ = trace;
    vocabulary_.follow(trace->model());
    if (const HeadIndex head = subject.chosen_head(); head_ != head) {
        head_ = head;
        circuits_ = {};
        by_distance_.reset();
    }
    choose_tokens(subject);
    refused_.clear();
    if (now().part <= CircuitsPart::positions) {
        const Circuit circuit = circuit_of(now().part);
        auto& kept = circuits_[static_cast<std::size_t>(circuit)];
        if (!kept) {
            auto job = CircuitJob::start(trace->model(), circuit, head_);
            if (job)
                kept.emplace(*std::move(job));
            else
                refused_ = job.error().message;
        }
    }
    if (!copying_)
        if (auto job = CopyingJob::start(trace->model())) copying_.emplace(*std::move(job));
    if (now().part == CircuitsPart::wiring) {
        if (!composition_) composition_.emplace(*CircuitEnds::of(trace->model()));
        if (composition_->layers() < 2)
            refused_ = "This model has one layer, so no head reads what another writes.";
        find_wires();
    }
    if (now().part == CircuitsPart::plane) now().corpus ? find_corpus_plane(subject) : find_plane(subject);
}

const std::vector<double>* CircuitsLens::by_distance() {
    HeadCircuit* shown = circuit();
    if (!shown || !shown->done() || !uses_rope()) return nullptr;
    if (!by_distance_)
        by_distance_ = mean_score_by_distance(*shown->job().factors(), network(), head_.layer, distances());
    return &*by_distance_;
}

Index CircuitsLens::distances() const {
    const Index context = trace_->model()->config().context;
    return context > 0 ? std::min(context, curve_distances) : curve_distances;
}

// ---- Wires ------------------------------------------------------------------------------------------------

void CircuitsLens::find_wires() {
    if (!composition_->done()) return;
    CircuitsState of = now();
    of.wire.reset();
    if (wires_.of && wires_.of->kinds == of.kinds && wires_.of->threshold == of.threshold) return;
    std::vector<DrawnWire> all;
    const Index layers = composition_->layers(), heads = composition_->heads();
    for (std::size_t kind = 0; kind < composition_count; ++kind)
        for (Index from = 0; of.kinds[kind] && from < layers * heads; ++from)
            for (Index to = (from / heads + 1) * heads; to < layers * heads; ++to) {
                const Wire wire{
                    static_cast<Composition>(kind), {from / heads, from % heads}, {to / heads, to % heads}};
                const auto value = static_cast<double>(composition_->value(wire.kind, wire.from, wire.to));
                if (!std::isnan(value)) all.push_back({wire, value});
            }
    const auto stronger = [](const DrawnWire& a, const DrawnWire& b) { return a.value > b.value; };
    const auto kept = std::min(all.size(), most_wires);
    std::ranges::partial_sort(all, all.begin() + static_cast<std::ptrdiff_t>(kept), stronger);
    wires_.strongest = all.empty() ? 0 : all.front().value;
    wires_.threshold = of.threshold.value_or(all.size() > usual_wires ? all[usual_wires - 1].value : 0);
    const auto reach =
        std::ranges::count_if(all, [&](const DrawnWire& each) { return each.value >= wires_.threshold; });
    all.resize(std::min(kept, static_cast<std::size_t>(reach)));
    wires_.left_out = reach - std::ssize(all);
    wires_.drawn = std::move(all);
    wires_.of = of;
}

std::optional<Wire> CircuitsLens::wire() const {
    if (!composition_ || !composition_->done()) return std::nullopt;
    const auto& asked = now().wire;
    const auto there = [&](const HeadIndex& head) {
        return head.layer < composition_->layers() && head.head < composition_->heads();
    };
    if (asked && there(asked->from) && there(asked->to)) return asked;
    return wires_.drawn.empty() ? std::nullopt : std::optional(wires_.drawn.front().wire);
}

// A virtual head attends to a token as the earlier head does, and writes what the later head makes of the
// earlier one's output.
bool CircuitsLens::step_virtual() {
    const auto of = wire();
    if (!of || !copying_ || !copying_->products().done()) return false;
    const TokenProducts& products = copying_->products();
    const CircuitEnds& ends = products.ends();
    const auto is_of = [&](const std::optional<VirtualHead>& head) {
        return head && head->of.from == of->from && head->of.to == of->to;
    };
    if (!is_of(virtual_)) {
        if (!is_of(coming_)) {
            VirtualHead made;
            made.of = *of;
            made.middle = virtual_middle(ends, of->from, of->to);
            const Tensor between = products.between(of->to, of->from);
            // W_O U E W_V of the two ends, times the product between them.
            const Index size = between.dim(0);
            std::vector<double> matrix(static_cast<std::size_t>(size * size));
            for (Index i = 0; i < size; ++i)
                for (Index k = 0; k < size; ++k)
                    for (Index j = 0; j < size; ++j)
                        matrix[static_cast<std::size_t>(i * size + j)] +=
                            static_cast<double>(between.matrix()(i, k)) *
                            static_cast<double>(made.middle.matrix()(k, j));
            coming_ = std::move(made);
            coming_search_.emplace(size, matrix);
        }
        if (coming_search_->step()) return true;
        coming_->copying = copying_of(coming_search_->values());
        virtual_ = std::move(coming_);
        coming_.reset();
        return true;
    }
    virtual_->of = *of;
    if (virtual_->token != tokens_.key) {
        const Tensor read = ends.read(of->from.layer, {tokens_.key, tokens_.key + 1});
        const HeadProjection projection = head_projection(*ends.model(), of->from.layer, of->from.head);
        Tensor value({1, projection.v.weight.out});
        ends.kernels().linear(read.matrix(), projection.v.view().weight, {}, Activation::none,
                              value.matrix());
        const Tensor written = ends.written(of->to.layer, of->to.head);
        const Index size = value.dim(1);
        virtual_->carried.assign(static_cast<std::size_t>(size), 0);
        for (Index a = 0; a < size; ++a)
            for (Index b = 0; b < size; ++b)
                virtual_->carried[static_cast<std::size_t>(b)] +=
                    value.matrix()(0, a) * virtual_->middle.matrix()(a, b);
        std::vector<double> direction(static_cast<std::size_t>(ends.width()));
        for (Index b = 0; b < size; ++b)
            for (std::size_t i = 0; i < direction.size(); ++i)
                direction[i] += static_cast<double>(virtual_->carried[static_cast<std::size_t>(b)]) *
                                static_cast<double>(written.matrix()(b, static_cast<Index>(i)));
        virtual_->outputs = std::make_unique<TokenDirections>(network().head.weight, std::nullopt, direction,
                                                              circuit_ends_listed);
        virtual_->token = tokens_.key;
        return true;
    }
    if (virtual_->outputs->done()) return false;
    virtual_->outputs->step();
    return true;
}

// ---- The plane --------------------------------------------------------------------------------------------

// For a long text, only tokens up to the chosen query.
void CircuitsLens::find_plane(Subject& subject) {
    const auto record = subject.attention()->record(head_.layer);
    if (!record || record->queries() == 0) return;
    const Index all = std::min(record->queries(), record->keys()), count = std::min(all, most_plane_tokens),
                last = std::clamp(chosen_query(subject) + 1, count, all);
    const Range tokens{last - count, last};
    const auto is_of_head = [&](const std::optional<PlaneOf>& plane) {
        return plane && plane->trace == trace_ && plane->head == head_;
    };
    if (!is_of_head(plane_)) plane_.reset();
    if (plane_ && plane_->tokens == tokens) return coming_plane_.reset();
    if (is_of_head(coming_plane_) && coming_plane_->tokens == tokens) return;
    const ConstMatrix q = rows(record->q().heads().head(head_.head), tokens),
                      k = rows(record->k().heads().head(record->kv_head(head_.head)), tokens);
    const auto finite = [](ConstMatrix m) {
        for (Index r = 0; r < m.rows; ++r)
            for (Index c = 0; c < m.cols; ++c)
                if (!std::isfinite(m(r, c))) return false;
        return true;
    };
    coming_plane_.reset();
    if (!finite(q) || !finite(k)) {
        refused_ = "Some number of q or k is not finite, so there is no plane to put them in.";
        return;
    }
    coming_plane_.emplace(trace_, head_, tokens, QueryKeyPlaneSearch(q, k));
}

void CircuitsLens::find_corpus_plane(Subject& subject) {
    const CorpusRun* texts = subject.corpus();
    if (!texts) {
        refused_ = "There are no other texts for this model here; place this text.";
        return;
    }
    if (!texts->done() || texts->traces().empty()) return corpus_plane_.reset();
    if (!corpus_plane_ || corpus_plane_->version() != texts->version() || corpus_plane_->head() != head_)
        corpus_plane_.emplace(*texts, head_);
    if (!corpus_plane_->finite())
        refused_ = "Some number of q or k is not finite, so there is no plane to put them in.";
}

CircuitsLens::CorpusEnd CircuitsLens::corpus_end() const {
    const auto& pin = state().pin;
    if (!pin || !pin->is(circuits_cells::corpus_plane)) return {};
    return {pin->own.at[0] == 1, std::min(pin->own.at[2], std::ssize(corpus_plane_->points()) - 1)};
}

double CircuitsLens::corpus_score(const CorpusEnd& of, Index other) const {
    return of.key ? corpus_plane_->score(other, of.point) : corpus_plane_->score(of.point, other);
}

std::vector<Index> CircuitsLens::corpus_best(const CorpusEnd& of) const {
    std::vector<std::pair<double, Index>> scores;
    for (Index i = 0; i < std::ssize(corpus_plane_->points()); ++i)
        scores.emplace_back(-corpus_score(of, i), i);
    std::ranges::sort(scores);
    std::vector<Index> best;
    for (const auto& [score, point] : scores) best.push_back(point);
    return best;
}

std::vector<Index> CircuitsLens::corpus_nearest(const CorpusEnd& of) const {
    const QueryKeyPlane& plane = corpus_plane_->plane();
    const QueryKeyPlane::Place& from =
        (of.key ? plane.keys : plane.queries)[static_cast<std::size_t>(of.point)];
    std::vector<std::pair<double, Index>> away;
    for (const QueryKeyPlane::Place& to : of.key ? plane.queries : plane.keys)
        away.emplace_back(std::hypot(to[0] - from[0], to[1] - from[1]), std::ssize(away));
    std::ranges::sort(away);
    std::vector<Index> nearest;
    for (const auto& [distance, point] : away) nearest.push_back(point);
    return nearest;
}

// ---- Slices -----------------------------------------------------------------------------------------------

bool CircuitsLens::read_names(Subject& subject) {
    const Index tokens = vocabulary_size(), known = std::ssize(names_);
    if (known >= tokens) return false;
    std::vector<std::int32_t> ids;
    for (Index id = known; id < std::min(known + names_a_step, tokens); ++id)
        ids.push_back(static_cast<std::int32_t>(id));
    std::vector<std::string> texts = subject.token_texts(ids);
    for (std::size_t i = 0; i < ids.size(); ++i)
        names_.push_back(i < texts.size() && !texts[i].empty() ? on_one_line(texts[i])
                                                               : std::to_string(ids[i]));
    return true;
}

bool CircuitsLens::step(Subject& subject) {
    update(subject);
    if (!refused_.empty()) return false;
    if ((search_[0].on || search_[1].on) && vocabulary_.read(subject)) return true;
    switch (now().part) {
        case CircuitsPart::qk:
        case CircuitsPart::ov:
            if (read_names(subject) || circuit()->step()) return true;
            break;
        case CircuitsPart::positions:
            if (circuit()->step()) return true;
            break;
        case CircuitsPart::wiring:
            if (composition_->step()) return true;
            break;
        case CircuitsPart::plane:
            if (now().corpus && corpus_plane_ && corpus_plane_->step()) return true;
            if (!now().corpus && coming_plane_) {
                if (coming_plane_->search.step()) return true;
                plane_ = std::exchange(coming_plane_, std::nullopt);
            }
            break;
    }
    if (copying_ && copying_->step()) return true;
    return now().part == CircuitsPart::wiring && step_virtual();
}

}  // namespace attn::app
