#include "lenses/circuits/circuits.hpp"

#include <algorithm>

#include "app/format.hpp"
#include "subjects/chosen_row.hpp"

namespace attn::app::circuits {

namespace {

constexpr Index names_a_step = 256, most_plane_tokens = 192;
constexpr const char* no_plane = "Some number of q or k is not finite, so there is no plane to put them in.";

}  // namespace

std::optional<Missing> Model::missing(Subject& subject) {
    const auto trace = subject.attention()->trace();
    if (!trace)
        return Missing{
            "A circuit goes from tokens to tokens, which takes a whole model; here is only a head’s "
            "attention."};
    const auto ends = CircuitEnds::of(trace->model());
    if (!ends) return Missing{ends.error().message};
    return std::nullopt;
}

// ---- Inputs -----------------------------------------------------------------------------------------------

Index Model::vocabulary_size() const {
    return std::min(network().token_embedding.out, network().head.weight.out);
}

Circuit Model::shown_circuit() const {
    if (state.part == Part::ov) return Circuit::ov;
    return state.part == Part::positions && !uses_rope() ? Circuit::positions : Circuit::qk;
}

std::int32_t Model::list_token(bool of_row) const {
    return state.part == Part::ov ? (of_row ? tokens.key : tokens.output)
                                  : (of_row ? tokens.query : tokens.key);
}

HeadCircuit* Model::circuit() {
    if (!trace || state.part > Part::positions || !refused.empty()) return nullptr;
    auto& kept = circuits[static_cast<std::size_t>(shown_circuit())];
    return kept ? &*kept : nullptr;
}

Model::Key Model::key() const {
    return {trace, head, state, tokens, placed ? placed->tokens : Range{}, corpus ? corpus->version() : 0};
}

void Model::choose_tokens(Subject& subject) {
    const Index size = vocabulary_size();
    const auto known = [&](std::optional<std::int32_t> token, std::int32_t otherwise) {
        return token && *token < size ? *token : otherwise;
    };
    const auto ids = trace->ids();
    const Index query = std::clamp<Index>(chosen_query(subject), 0, std::ssize(ids) - 1);
    Index key = query;
    if (const auto record = subject.attention()->record(head.layer); record && query < record->queries()) {
        const std::vector<float> weights = record->weights(head.head, query);
        key = std::min<Index>(std::ranges::max_element(weights) - weights.begin(), std::ssize(ids) - 1);
    }
    tokens.query = known(state.query, ids[static_cast<std::size_t>(query)]);
    tokens.key = known(state.key, ids[static_cast<std::size_t>(key)]);
    tokens.output = known(state.output, tokens.key);
}

void Model::update(Visit& visit, Subject& subject) {
    const auto now = subject.attention()->trace();
    if (!trace || trace->model() != now->model()) {
        Model empty;
        empty.searches = std::move(searches);
        empty.in_view = in_view;
        empty.seen = std::move(seen);
        *this = std::move(empty);
        if (seen) forget_maps(*seen);
    }
    const HeadIndex chosen = subject.chosen_head();
    if (head != chosen) circuits = {};
    if (head != chosen || trace != now) {
        placed.reset();
        placing.reset();
    }
    trace = now;
    head = chosen;
    state = visit.state().of<State>();
    vocabulary.follow(trace->model());
    choose_tokens(subject);
    refused.clear();
    if (!copying_job) copying_job.emplace(*CopyingJob::start(trace->model()));
    switch (state.part) {
        case Part::qk:
        case Part::ov:
        case Part::positions: return find_circuit();
        case Part::wiring: break;
        case Part::plane:
            return state.corpus ? find_corpus_plane(subject, visit.state().pin) : find_plane(subject);
    }
    if (!composition) composition.emplace(*CircuitEnds::of(trace->model()));
    if (composition->layers() < 2)
        refused = "This model has one layer, so no head reads what another writes.";
    if (composition->done())
        wires.of({state.kinds, state.threshold},
                 [&] { return strongest_wires(*composition, state.kinds, state.threshold); });
}

// ---- Results ----------------------------------------------------------------------------------------------

void Model::find_circuit() {
    auto& kept = circuits[static_cast<std::size_t>(shown_circuit())];
    if (kept) return;
    if (auto job = CircuitJob::start(trace->model(), shown_circuit(), head))
        kept.emplace(*std::move(job));
    else
        refused = job.error().message;
}

// For a long text, only tokens up to the chosen query.
void Model::find_plane(Subject& subject) {
    const auto record = subject.attention()->record(head.layer);
    if (!record || record->queries() == 0) return;
    const Index all = std::min(record->queries(), record->keys()), count = std::min(all, most_plane_tokens),
                last = std::clamp(chosen_query(subject) + 1, count, all);
    const Range wanted{last - count, last};
    if (placed && placed->tokens == wanted) return placing.reset();
    if (placing && placing->tokens == wanted) return;
    placing.reset();
    if (auto search =
            QueryKeyPlaneSearch::of(rows(record->q().heads().head(head.head), wanted),
                                    rows(record->k().heads().head(record->kv_head(head.head)), wanted)))
        placing.emplace(wanted, *std::move(search));
    else
        refused = no_plane;
}

void Model::find_corpus_plane(Subject& subject, const std::optional<CellRef>& pin) {
    const CorpusRun* texts = corpus_of(subject);
    if (!texts) {
        refused = "There are no other texts for this model here; place this text.";
        return;
    }
    if (!texts->done() || texts->traces().empty()) return corpus.reset();
    if (!corpus || corpus->version() != texts->version() || corpus->head() != head)
        corpus.emplace(*texts, head);
    if (!corpus->finite()) refused = no_plane;
    corpus_end = {};
    if (pin && pin->is(cells::corpus_plane))
        corpus_end = {pin->own()->at[0] == 1, std::min(pin->own()->at[2], std::ssize(corpus->points()) - 1)};
}

std::optional<Wire> Model::wire() const {
    if (!composition || !composition->done()) return std::nullopt;
    const auto there = [&](const HeadIndex& of) {
        return of.layer < composition->layers() && of.head < composition->heads();
    };
    if (state.wire && there(state.wire->from) && there(state.wire->to)) return state.wire;
    const Wires* found = wires.kept();
    return found && !found->listed.empty() ? std::optional(found->listed.front().wire) : std::nullopt;
}

const VirtualHead* Model::virtual_head() const {
    const auto of = wire();
    return of && both && both->copying() && both->from() == of->from && both->to() == of->to ? &*both
                                                                                             : nullptr;
}

// ---- Slices -----------------------------------------------------------------------------------------------

bool Model::step_virtual() {
    const auto of = wire();
    if (!of || !copying_job->products().done()) return false;
    if (!both || both->from() != of->from || both->to() != of->to)
        both.emplace(copying_job->products(), of->from, of->to);
    both->attend_to(tokens.key, circuit_ends_listed);
    return both->step();
}

bool Model::read_names(Subject& subject) {
    const Index known = std::ssize(names), end = std::min(known + names_a_step, vocabulary_size());
    std::vector<std::int32_t> ids;
    for (Index id = known; id < end; ++id) ids.push_back(static_cast<std::int32_t>(id));
    if (ids.empty()) return false;
    const std::vector<std::string> texts = subject.token_texts(ids);
    for (std::size_t i = 0; i < ids.size(); ++i)
        names.push_back(i < texts.size() && !texts[i].empty() ? on_one_line(texts[i])
                                                              : std::to_string(ids[i]));
    return true;
}

bool Model::step(Visit& visit, Subject& subject) {
    update(visit, subject);
    if (!refused.empty()) return false;
    if ((searches[0].on || searches[1].on) && vocabulary.read(subject)) return true;
    switch (state.part) {
        case Part::qk:
        case Part::ov:
            if (read_names(subject) || circuit()->step()) return true;
            break;
        case Part::positions:
            if (circuit()->step()) return true;
            break;
        case Part::wiring:
            if (composition->step()) return true;
            break;
        case Part::plane:
            if (state.corpus && corpus && corpus->step()) return true;
            if (!state.corpus && placing) {
                if (placing->search.step()) return true;
                placed = std::exchange(placing, std::nullopt);
            }
            break;
    }
    if (copying_job->step()) return true;
    return state.part == Part::wiring && step_virtual();
}

}  // namespace attn::app::circuits
