#include "lenses/masks/masks.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "app/link_text.hpp"
#include "attention/explain.hpp"
#include "maps/mask_map.hpp"
#include "subjects/explain.hpp"

namespace attn::app {

namespace {

// Four documents, each a little longer than the one before.
Mask documents(Index size) {
    std::vector<std::int32_t> of(static_cast<std::size_t>(size));
    for (Index i = 0; i < size; ++i)
        of[static_cast<std::size_t>(i)] = 10 * i < size       ? 0
                                          : 10 * i < 3 * size ? 1
                                          : 10 * i < 6 * size ? 2
                                                              : 3;
    return Mask::same_document(of, of);
}

// Eight blocks per side at most: those on the diagonal, those before them, and the first column (Zaheer et
// al. 2020, arXiv 2007.14062, without its random blocks).
Mask blocks(Index size) {
    const Index block = std::max<Index>((size + 7) / 8, 1), count = (size + block - 1) / block;
    std::vector<std::uint8_t> allowed;
    for (Index row = 0; row < count; ++row)
        for (Index col = 0; col < count; ++col) allowed.push_back(col == 0 || col == row || col + 1 == row);
    return Mask::block_sparse(block, count, count, std::move(allowed));
}

constexpr std::array presets{
    MaskPreset{"causal", [](Index) { return Mask::causal(); }},
    MaskPreset{"window of 16", [](Index) { return Mask::window(15, 0); }},
    MaskPreset{"causal documents", [](Index n) { return Mask::causal() & documents(n); }},
    // Xiao et al. 2023, arXiv 2309.17453.
    MaskPreset{"first keys and window",
               [](Index) { return Mask::causal() & (Mask::padding(4) | Mask::window(15, 0)); }},
    // Child et al. 2019, arXiv 1904.10509.
    MaskPreset{"strided", [](Index) { return Mask::causal() & (Mask::window(7, 0) | Mask::strided(8)); }},
    // Raffel et al. 2019, arXiv 1910.10683.
    MaskPreset{"prefix", [](Index n) { return Mask::prefix(n / 4); }},
    // Beltagy et al. 2020, arXiv 2004.05150.
    MaskPreset{"global tokens", [](Index) { return Mask::global_local({0}, 4); }},
    MaskPreset{"no mask", [](Index) { return Mask(); }},
};

constexpr std::array atoms{
    MaskPreset{"causal", [](Index) { return Mask::causal(); }},
    MaskPreset{"window", [](Index) { return Mask::window(15, 0); }},
    MaskPreset{"strided", [](Index) { return Mask::strided(4); }},
    MaskPreset{"blocks", blocks},
    MaskPreset{"global", [](Index) { return Mask::global_local({0}, 2); }},
    MaskPreset{"prefix", [](Index n) { return Mask::prefix(n / 4); }},
    MaskPreset{"documents", documents},
    MaskPreset{"padding", [](Index n) { return Mask::padding(n - n / 4); }},
};

void prune(State& state) {
    if (!fits_into_a_link(state.of<MasksState>().mask.text()))
        state.edit<MasksState>().mask = MasksState{}.mask;
}

std::optional<Mask> read_mask(std::string_view text) {
    auto mask = Mask::parse(text);
    return mask ? std::optional(*std::move(mask)) : std::nullopt;
}
constexpr std::string_view mask_examples[] = {"causal(0) & window(15,0)", "window(3,1) | first(2)"};

}  // namespace

const Fields<MasksState>& MasksState::fields() {
    using S = MasksState;
    static const Field<S> all[]{
        {"masks.n",
         [](const S& s) {
             return s.size ? "mask of " + with_commas(s.size) + " queries"
                           : std::string("mask of these tokens");
         },
         whole<&S::size>("number of queries and keys", 0, mask_size_limit)},
        {"masks.off", {"mask off by one", "mask as written"}, whole<&S::shift>("shift", -1, 1)},
        {"masks.run", {"model under the mask", "model as it is"}, word<&S::runs>("1")},
        {"masks.mask",
         [](const S& s) {
             constexpr std::size_t most = 60;
             const std::string text = s.mask.text();
             return "mask " + (text.size() <= most ? text : text.substr(0, most) + "…");
         },
         spelled<&S::mask, read_mask, [](const Mask& mask) { return mask.text(); }>("mask", mask_examples)},
    };
    static const Fields<S> fields{.all = all, .check = [](const S& s) -> Status {
                                      // A composed mask may be nested more deeply than the parser allows.
                                      const auto read = Mask::parse(s.mask.text());
                                      return read ? ok() : Status(read.error());
                                  }};
    return fields;
}
LinkRows masks_links() { return {.rows = rows_of_fields<MasksState, 4>(), .prune = prune}; }

std::span<const MaskPreset> mask_presets() { return presets; }
std::span<const MaskPreset> mask_atoms() { return atoms; }

std::vector<MapWindow> stroke_squares(ui::MapCell from, ui::MapCell to, Index side) {
    const Index row = from.query / side, col = from.key / side, down = to.query / side - row,
                across = to.key / side - col, steps = std::max(std::abs(down), std::abs(across));
    std::vector<MapWindow> squares;
    const auto along = [&](Index begin, Index length, Index step) {
        const double exact = static_cast<double>(length) * static_cast<double>(step) /
                             static_cast<double>(std::max<Index>(steps, 1));
        return begin + static_cast<Index>(std::lround(exact));
    };
    for (Index step = 0; step <= steps; ++step) {
        const Index query = along(row, down, step) * side, key = along(col, across, step) * side;
        squares.push_back({{query, query + side}, {key, key + side}});
    }
    return squares;
}

const MasksLens::Looked& MasksLens::look(Subject& subject) {
    Attention& attention = *subject.attention();
    const HeadIndex head = subject.chosen_head();
    Looked looked{shifted(now().mask, now().shift), now().size, now().size, head, 0};
    if (now().size == 0) {
        looked.queries = attention.queries();
        looked.keys = attention.keys();
        looked.version = attention.version();
    }
    // Weights that are still being computed are requested again.
    const bool awaits = looked.version != 0 && !lost_of_own_;
    if (looked_ == looked && !awaits) return *looked_;
    const bool same_mask = looked_ && looked_->mask == looked.mask && looked_->queries == looked.queries &&
                           looked_->keys == looked.keys && looked_->head.head == looked.head.head;
    looked_ = looked;
    if (!same_mask) {
        map_ = mask_map(looked.mask, head.head, looked.queries, looked.keys);
        counting_.emplace(looked.mask, head.head, looked.queries, looked.keys);
        race_.reset();
    }
    lost_of_all_.reset();
    lost_of_own_.reset();
    empty_.reset();
    record_ = looked.version != 0 ? attention.record(head.layer) : nullptr;
    // A head that came as finished weights has no vectors.
    const auto of_head = attention.record(head.layer);
    d_k_ = of_head ? of_head->d_k() : 64;
    d_v_ = of_head ? of_head->d_v() : 64;
    query_names_ = looked.version != 0 ? attention.query_names() : numbered_labels(looked.queries);
    key_names_ = looked.version != 0 ? attention.key_names() : numbered_labels(looked.keys);
    if (looked.version != 0) {
        const bool measured = !attention.being_measured(Stage::weight);
        const MapPointer own = attention.map(head.layer, head.head, {.stage = Stage::weight});
        if (own && measured) lost_of_own_.emplace(own, looked.mask, head.head);
        if (record_ && measured && !record_->spec().mask.is_everything())
            if (auto all = RowLosses::without_mask(*record_, looked.mask, head.head))
                lost_of_all_ = *std::move(all);
    }
    step();
    return *looked_;
}

bool MasksLens::step() {
    if (!counting_->done())
        counting_->step();
    else if (lost_of_all_ && !lost_of_all_->done())
        lost_of_all_->step();
    else if (lost_of_own_ && !lost_of_own_->done())
        lost_of_own_->step();
    else if (masked_run_.working())
        masked_run_.step();
    else if (race_)
        race_->step();
    return step_wanted();
}

bool MasksLens::step_wanted() const {
    const auto lasts = [](const auto& job) { return job && !job->done(); };
    return lasts(counting_) || lasts(lost_of_all_) || lasts(lost_of_own_) || lasts(race_) ||
           masked_run_.working();
}

std::vector<double> MasksLens::scores_of(Index query) const {
    std::vector<double> scores(static_cast<std::size_t>(looked_->keys));
    if (!record_) return scores;
    const RowChain row = row_chain(*record_, looked_->head.head, query);
    for (Index key = 0; key < looked_->keys; ++key) {
        const CellExplanation cell = row.at(key);
        scores[static_cast<std::size_t>(key)] = cell.allowed ? cell.masked : cell.capped + cell.bias;
    }
    return scores;
}

const MasksLens::EmptyExample& MasksLens::empty_example() {
    EmptyExample example;
    const std::vector<Index>& kept = counting_->counts().kept;
    const auto empty = std::ranges::find(kept, 0);
    example.without_key = counting_->done() && empty != kept.end();
    if (example.without_key)
        example.query = empty - kept.begin();
    else if (const auto chosen = state().selection.query; chosen && *chosen < looked_->queries)
        example.query = *chosen;
    example.chosen = state().selection.key.value_or(-1);
    if (empty_ && empty_->query == example.query && empty_->without_key == example.without_key &&
        empty_->chosen == example.chosen)
        return *empty_;
    example.scores = scores_of(example.query);
    example.allowed.resize(example.scores.size());
    looked_->mask.row(looked_->head.head, example.query, 0, example.allowed);
    for (std::size_t i = 0; i < example.rows.size(); ++i)
        example.rows[i] = weights_under<double>(static_cast<EmptyRow>(i), example.scores, example.allowed);
    const auto last = std::find(example.allowed.rbegin(), example.allowed.rend(), 1);
    const std::vector<double>& weights = example.rows[static_cast<std::size_t>(EmptyRow::zeros)].weights;
    const auto strongest = std::ranges::max_element(weights);
    constexpr Index nearest = 8;
    const Index newest = (example.allowed.rend() - last) - 1;
    example.wanted = {example.chosen,
                      strongest != weights.end() && *strongest > 0 ? strongest - weights.begin() : Index{-1}};
    for (Index key = newest; key > newest - nearest; --key) example.wanted.push_back(key);
    return empty_.emplace(std::move(example));
}

std::string MasksLens::query_name(Index query) const { return in_quotes(label_at(query_names_, query)); }
std::string MasksLens::key_name(Index key) const { return in_quotes(label_at(key_names_, key)); }

std::string MasksLens::spoken(Subject& subject) {
    look(subject);
    const MaskCounts& counts = counting_->counts();
    if (!counting_->done()) return "Counting what this mask keeps.";
    const double cells = std::max(static_cast<double>(counts.cells()), 1.0);
    std::string text = "This mask keeps " + with_commas(counts.kept_cells) + " of " +
                       with_commas(counts.cells()) + " cells (" +
                       percent(static_cast<double>(counts.kept_cells) / cells) + ")";
    const Index without = counts.rows_without_key();
    text += without == 0   ? ", and every query has a key."
            : without == 1 ? ", and 1 query has no key."
                           : ", and " + with_commas(without) + " queries have no key.";
    const std::string predicted = prediction_spoken(subject);
    return predicted.empty() ? text : predicted + "\n" + text;
}

// Says what the model predicts under this mask, once it has run.
std::string MasksLens::prediction_spoken(Subject& subject) const {
    const MaskedRun& run = masked_run_;
    const auto trace = subject.attention()->trace();
    if (!now().runs || !trace || !run.done() || run.tokens().empty()) return "";
    const auto share_before = [&](std::int32_t id) {
        return run.chances_before()[static_cast<std::size_t>(id)];
    };
    const auto share_after = [&](std::int32_t id) {
        return run.chances_after()[static_cast<std::size_t>(id)];
    };
    // The likeliest tokens of both runs are among these.
    const std::array ids{*std::ranges::max_element(run.tokens(), {}, share_before),
                         *std::ranges::max_element(run.tokens(), {}, share_after)};
    const auto [before, after] = ids;
    const std::vector<std::string> names = subject.token_texts(ids);
    if (names.size() < 2) return "";
    const std::string there = trace->model()->network().causal ? "next" : "there";
    if (before == after)
        return "Under this mask, " + curly_quoted(names[1]) + " still comes " + there + ": " +
               percent(share_after(after)) + ", before " + percent(share_before(before)) + ".";
    return "Under this mask, " + curly_quoted(names[1]) + " comes " + there + " (" +
           percent(share_after(after)) + "), not " + curly_quoted(names[0]) + " (" +
           percent(share_before(before)) + " before).";
}

Guide MasksLens::guide(Subject&) const {
    return {
        "What a mask does",
        "A mask says which keys each query may look at. A hidden key has a weight of exactly 0: its score is "
        "taken as −∞ before softmax, so what it would have had goes to the keys that are left.\n\n"
        "A kernel that computes attention tile by tile skips the tiles in which nothing is allowed. That is "
        "why a "
        "window makes long texts cheap, and why a stride, which leaves something in every tile, does not."};
}

}  // namespace attn::app
