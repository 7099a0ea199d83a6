// Helpers for commands: some that must succeed or fail, and random ones.
#pragma once

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/catalogue.hpp"
#include "app/command.hpp"
#include "app/looks.hpp"
#include "lenses/cache/state.hpp"
#include "lenses/circuits/circuits.hpp"
#include "lenses/compare/compare.hpp"
#include "lenses/curves/curves.hpp"
#include "lenses/geometry/geometry.hpp"
#include "lenses/gradient/gradient.hpp"
#include "lenses/heads/heads.hpp"
#include "lenses/inverse/inverse.hpp"
#include "lenses/knockout/knockout.hpp"
#include "lenses/ladder/ladder.hpp"
#include "lenses/layers/layers.hpp"
#include "lenses/masks/masks.hpp"
#include "lenses/memory/memory.hpp"
#include "lenses/order/order.hpp"
#include "lenses/scale/scale.hpp"
#include "lenses/softmax/softmax.hpp"
#include "lenses/tiles/tiles.hpp"
#include "runs/training_state.hpp"
#include "subjects/sentence/commands.hpp"
#include "subjects/tensors/commands.hpp"
#include "subjects/worked/commands.hpp"
#include "subjects/worked/presets.hpp"
#include "subjects/worked/worked_run.hpp"
#include "tensor/random.hpp"

namespace attn::test {

inline app::State after(const app::State& state, const app::Command& command) {
    auto next = app::apply(state, command);
    INFO((next ? "" : next.error().message));
    REQUIRE(next);
    return *next;
}

inline std::string refusal(const app::State& state, const app::Command& command) {
    const auto next = app::apply(state, command);
    REQUIRE_FALSE(next);
    return next.error().message;
}

inline app::State opened(app::PresetId preset) {
    return after(app::default_state(), app::OpenPreset{preset});
}

inline std::vector<double> weights(const app::WorkedState& worked) {
    const auto run = app::run_worked(worked);
    REQUIRE(run);
    return run->matrix(worked, Stage::weight).values;
}

// Checks the invariants that hold for every State, whatever commands led to it.
inline void check_valid(const app::State& s) {
    REQUIRE(app::find_subject(s.subject));
    REQUIRE(app::find_lens(s.lens));
    REQUIRE(app::subject_of(s).may_select(s, s.selection));
    if (s.pin) REQUIRE(app::may_pin(s, *s.pin));
    for (const app::SubjectEntry& subject : app::subject_list()) {
        const app::Looks& looks = app::looks_of(s, subject.key);
        REQUIRE(is_of_pairs(looks.map.stage));
        REQUIRE(looks.bookmarks.size() <= app::bookmark_limit);
        REQUIRE(looks.flow.heads.size() < flow_heads_limit);
    }
    const app::WorkedState& w = app::worked_of(s);
    const auto fits = app::check_inputs(w);
    INFO((fits ? "" : fits.error().message));
    REQUIRE(fits);
    const auto used = app::inputs_of(w.source);
    for (int i = 0; i <= static_cast<int>(Stage::raw); ++i) {
        const auto id = static_cast<Stage>(i);
        if (std::ranges::find(used, id) == used.end()) REQUIRE(w.stored(id)->empty());
    }
    REQUIRE(std::ssize(w.query_labels) == w.queries());
    REQUIRE(std::ssize(w.key_labels) == w.keys());
    if (w.source == app::Source::projections) REQUIRE(w.query_labels == w.key_labels);
    const bool painted = w.mask.kind == app::WorkedMask::Kind::painted;
    REQUIRE(std::ssize(w.mask.painted) == (painted ? w.queries() * w.keys() : 0));
    if (w.source == app::Source::scores) REQUIRE_FALSE(w.scale_by_sqrt_d);
    if (s.subject == app::worked_subject) {
        if (s.selection.query) REQUIRE(*s.selection.query < w.queries());
        if (s.selection.key) REQUIRE(*s.selection.key < w.keys());
        const bool of_two = s.pin && (s.pin->stage == Stage::difference || s.pin->stage == Stage::row_cosine);
        if (s.pin && s.pin->stage != Stage::lens && !is_of_map(s.pin->stage) && !of_two) {
            const app::MatrixShape shape = app::shape_of(w, s.pin->stage);
            REQUIRE(s.pin->row < shape.rows);
            REQUIRE(s.pin->col < shape.cols);
        }
    }
}

// Makes random commands of every kind, both ones that a user might give and ones that must be refused;
// command_test.cpp checks that no kind is missing.
class RandomCommands {
  public:
    explicit RandomCommands(std::uint64_t seed) : random_(seed) {}

    app::Command next(const app::State& state) {
        Index shares = 0;
        for (const Kind& kind : kinds()) shares += kind.share;
        Index drawn = below(shares);
        for (const Kind& kind : kinds())
            if ((drawn -= kind.share) < 0) return kind.make(*this, state);
        std::abort();
    }
    // Lists the kinds of commands that it makes.
    static std::vector<std::string> names() {
        std::vector<std::string> all;
        for (const Kind& kind : kinds()) all.push_back(kind.name);
        return all;
    }

  private:
    struct Kind {
        const char* name;
        int share;
        app::Command (*make)(RandomCommands& r, const app::State& state);
    };
    static std::span<const Kind> kinds() {
        using namespace app;
        using R = RandomCommands;
        static const Kind all[] = {
            {"OpenSubject", 1, [](R& r, const State&) -> Command { return OpenSubject{r.subject()}; }},
            {"OpenLens", 1, [](R& r, const State&) -> Command { return OpenLens{r.lens()}; }},
            {"Together", 1,
             [](R& r, const State&) -> Command {
                 return Together{{OpenSubject{r.subject()}, OpenLens{r.lens()}}};
             }},
            {"Select", 1, [](R& r, const State&) -> Command { return Select{r.selection()}; }},
            {"Pin", 1,
             [](R& r, const State& s) -> Command { return r.below(4) ? Pin{r.any_cell(s)} : Pin{}; }},
            {"SetMap", 1, [](R& r, const State&) -> Command { return SetMap{r.map(), r.some_subject()}; }},
            {"ShowWindow", 1,
             [](R& r, const State&) -> Command {
                 if (r.below(4) == 0) return ShowWindow{{}, r.some_subject()};
                 const Bookmark place = r.bookmark();
                 MapExtent view = MapExtent::of(place.queries, place.keys);
                 if (r.yes()) view.keys = {r.number(), r.number()};
                 if (r.yes()) view.queries.begin += r.share();
                 return ShowWindow{view, r.some_subject()};
             }},
            {"MarkPart", 1,
             [](R& r, const State&) -> Command {
                 if (r.below(4) == 0) return MarkPart{{}, r.some_subject()};
                 const Bookmark place = r.bookmark();
                 return MarkPart{Window{place.queries, place.keys}, r.some_subject()};
             }},
            {"SetHeads", 1,
             [](R& r, const State&) -> Command {
                 const auto by = r.score(), against = r.score();
                 return SetHeads{{by, against}, r.some_subject()};
             }},
            {"SetFlow", 1, [](R& r, const State&) -> Command { return SetFlow{r.flow(), r.some_subject()}; }},
            {"AddBookmark", 1,
             [](R& r, const State&) -> Command { return AddBookmark{r.bookmark(), r.some_subject()}; }},
            {"RemoveBookmark", 1,
             [](R& r, const State&) -> Command {
                 return RemoveBookmark{static_cast<std::size_t>(r.below(3)), r.some_subject()};
             }},

            {"SetScale", 1,
             [](R& r, const State&) -> Command {
                 return SetScale{{.vectors = static_cast<ScaleVectors>(r.below(2)),
                                  .components = r.below(5000),
                                  .seed = static_cast<std::uint32_t>(r.random_.bits()),
                                  .row = static_cast<ScaleRow>(r.below(4)),
                                  .keys = r.below(70),
                                  .own = r.yes() ? r.share() * 10 : r.number()}};
             }},
            {"SetGradient", 1,
             [](R& r, const State&) -> Command {
                 const auto token = [&] {
                     return r.yes() ? std::optional(static_cast<std::int32_t>(r.below(5) - 1)) : std::nullopt;
                 };
                 return SetGradient{{static_cast<GradientAim>(r.below(3)), r.below(5), r.below(5), token(),
                                     token(), r.below(40) - 1, 0.25 * static_cast<double>(r.below(5))}};
             }},
            {"StepAlong", 1, [](R&, const State&) -> Command { return StepAlong{{SetGradient{}}}; }},
            {"SetLayers", 1,
             [](R& r, const State&) -> Command {
                 LayersState layers;
                 if (r.yes()) layers.token = static_cast<std::int32_t>(r.below(2000) - 1);
                 if (r.yes()) layers.place = r.below(1100) - 2;
                 return SetLayers{layers};
             }},
            {"SetKnockout", 1,
             [](R& r, const State&) -> Command {
                 KnockoutState knockout{.part = static_cast<KnockoutPart>(r.below(knockout_part_count)),
                                        .removal = static_cast<Removal>(r.below(removal_count)),
                                        .site = static_cast<Site>(r.below(site_count)),
                                        .back = r.yes()};
                 if (r.yes()) knockout.raise = static_cast<std::int32_t>(r.below(30) - 1);
                 if (r.yes()) knockout.over = static_cast<std::int32_t>(r.below(30) - 1);
                 return SetKnockout{knockout};
             }},
            {"SetHeadsLens", 1,
             [](R& r, const State&) -> Command {
                 return SetHeadsLens{{.part = static_cast<HeadsPart>(r.below(heads_part_count)),
                                      .tutorial = r.yes(),
                                      .outputs = r.yes(),
                                      .all_layers = r.yes(),
                                      .kv_heads = r.below(9) - 1,
                                      .rank = r.below(40) - 1}};
             }},
            {"SetCircuits", 1,
             [](R& r, const State&) -> Command {
                 CircuitsState circuits{.part = static_cast<CircuitsPart>(r.below(circuits_part_count)),
                                        .distance = r.below(120'000) - 5,
                                        .kinds = {r.yes(), r.yes(), r.yes()}};
                 for (auto* token : {&circuits.query, &circuits.key, &circuits.output})
                     if (r.yes()) *token = static_cast<std::int32_t>(r.below(30) - 1);
                 if (r.yes()) circuits.threshold = static_cast<double>(r.below(120) - 5) / 100;
                 circuits.corpus = r.yes();
                 circuits.by_position = r.yes();
                 if (r.yes())
                     circuits.wire = Wire{static_cast<Composition>(r.below(3)),
                                          {r.below(3), r.below(4) - 1},
                                          {r.below(4), r.below(4)}};
                 return SetCircuits{circuits};
             }},
            {"SetCache", 1,
             [](R& r, const State&) -> Command {
                 return SetCache{{.part = static_cast<CachePart>(r.below(cache_part_count)),
                                  .prompt = r.below(30) - 1,
                                  .written = r.below(30) - 1,
                                  .kv_heads = r.below(5),
                                  .window = r.below(12) - 1,
                                  .bits = cache_bits[static_cast<std::size_t>(r.below(4))],
                                  .rounding = {cache_bits[static_cast<std::size_t>(r.below(4))], r.below(12)},
                                  .eviction = {static_cast<EvictionPolicy>(r.below(eviction_policy_count)),
                                               r.below(12), r.below(6), r.below(6), r.below(8)}}};
             }},
            {"SetGeometry", 1, [](R& r, const State&) -> Command { return SetGeometry{r.geometry()}; }},
            {"SetInverse", 1, [](R& r, const State&) -> Command { return SetInverse{r.inverse()}; }},
            {"MakeItSo", 1,
             [](R& r, const State&) -> Command { return MakeItSo{{SetInverse{r.inverse()}}}; }},
            {"SetOrder", 1,
             [](R& r, const State&) -> Command {
                 OrderState order{.scheme = static_cast<PositionScheme>(r.below(7)),
                                  .first = r.below(40) - 2,
                                  .first_key = r.below(40) - 2,
                                  .masked = r.yes(),
                                  .interleaved = r.yes(),
                                  .shift = r.below(1'100'000) - 5,
                                  .turn = r.below(5000) - 5,
                                  .reach = r.below(600),
                                  .mean = r.yes(),
                                  .trained = r.below(10'000) - 5,
                                  .factor = r.below(70),
                                  .far = r.below(70'000'000) - 5,
                                  .pair = r.below(5000) - 5,
                                  .seed = static_cast<std::uint32_t>(r.random_.bits())};
                 for (Index i = r.below(14); i > 0; --i)
                     order.order.insert(order.order.begin() + r.below(std::ssize(order.order) + 1),
                                        r.below(12) ? i - 1 : i);
                 return SetOrder{std::move(order)};
             }},
            {"SetMemory", 1,
             [](R& r, const State&) -> Command {
                 MemoryState memory{.network = static_cast<MemoryNetwork>(r.below(2)),
                                    .plane = static_cast<MemoryPlane>(r.below(2)),
                                    .of_keys = r.yes(),
                                    .bits = r.below(450),
                                    .patterns = r.below(220),
                                    .flipped = r.share(),
                                    .stored = r.below(40),
                                    .seed = r.below(1'100'000)};
                 if (r.yes()) memory.beta = r.number();
                 if (r.yes()) memory.start = {r.number(), r.share()};
                 return SetMemory{memory};
             }},
            {"SetTileSize", 1,
             [](R& r, const State&) -> Command { return SetTileSize{{r.below(140), r.below(140)}}; }},
            {"SetTile", 1, [](R& r, const State&) -> Command { return SetTile{r.below(120'000) - 10}; }},
            {"SetSoftmax", 1,
             [](R& r, const State&) -> Command {
                 return SetSoftmax{{r.number(), static_cast<SoftmaxShown>(r.below(2))}};
             }},
            {"TryMask", 1,
             [](R& r, const State&) -> Command {
                 return TryMask{{r.mask(3), r.below(4) ? 0 : r.below(20'000) - 5, r.below(5) - 2, r.yes()}};
             }},
            {"SetTrainingMaps", 1,
             [](R& r, const State&) -> Command {
                 return SetTrainingMaps{static_cast<TrainingMaps>(r.below(2))};
             }},
            {"SetComparisonView", 1,
             [](R& r, const State&) -> Command {
                 return SetComparisonView{static_cast<ComparisonView>(r.below(3))};
             }},
            {"SetLadderTokens", 1,
             [](R& r, const State&) -> Command {
                 return SetLadderTokens{
                     {r.yes() ? std::optional(r.below(50) - 5) : std::nullopt, r.below(30)}};
             }},

            {"OpenPreset", 1,
             [](R& r, const State&) -> Command { return OpenPreset{r.one_of(presets()).id}; }},
            {"SetCell", 2, [](R& r, const State& s) -> Command { return SetCell{r.cell(s), r.number()}; }},
            {"PasteCells", 1,
             [](R& r, const State& s) -> Command {
                 return PasteCells{r.cell(s), r.matrix(1 + r.below(5), 1 + r.below(5))};
             }},
            {"Resize", 2,
             [](R& r, const State&) -> Command {
                 return Resize{r.axis(), r.below(10) ? r.below(8) : r.below(80) - 5};
             }},
            {"RemoveAt", 2, [](R& r, const State&) -> Command { return RemoveAt{r.axis(), r.below(6) - 1}; }},
            {"SetSource", 1,
             [](R& r, const State&) -> Command { return SetSource{static_cast<Source>(r.below(3))}; }},
            {"Generate", 1,
             [](R& r, const State&) -> Command { return Generate{static_cast<std::uint32_t>(r.bits())}; }},
            {"SetScaling", 1, [](R& r, const State&) -> Command { return SetScaling{r.yes()}; }},
            {"SetTemperature", 1, [](R& r, const State&) -> Command { return SetTemperature{r.number()}; }},
            {"SetSoftcap", 1, [](R& r, const State&) -> Command { return SetSoftcap{r.number()}; }},
            {"SetMask", 1,
             [](R& r, const State&) -> Command {
                 return SetMask{static_cast<WorkedMask::Kind>(r.below(4)), r.below(140) - 70, r.below(70),
                                r.below(5)};
             }},
            {"PaintMask", 1,
             [](R& r, const State&) -> Command { return PaintMask{r.below(6) - 1, r.below(6), r.yes()}; }},
            {"SetLabel", 1,
             [](R& r, const State&) -> Command { return SetLabel{r.yes(), r.below(6), r.text()}; }},
            {"TakeHead", 1, [](R& r, const State&) -> Command { return TakeHead{r.head()}; }},

            {"SetText", 1, [](R& r, const State&) -> Command { return SetText{r.text()}; }},
            {"SetWritten", 1, [](R& r, const State&) -> Command { return SetWritten{r.text()}; }},
            {"OpenBundled", 1,
             [](R& r, const State&) -> Command { return OpenBundled{r.text(), r.text(), r.text()}; }},
            {"Compare", 1,
             [](R& r, const State&) -> Command {
                 if (r.below(3) == 0) return Compare{};
                 return Compare{Comparison{r.text(), r.yes() ? r.text() : ""},
                                r.below(4) ? std::nullopt : std::optional(r.text())};
             }},
            {"SetModel", 1, [](R& r, const State&) -> Command { return SetModel{r.text()}; }},
            {"OpenTrained", 1,
             [](R& r, const State&) -> Command {
                 return OpenTrained{{r.plan(), r.below(1000) - 10}, r.text(), {r.below(4), r.below(5) - 1}};
             }},
            {"SetSampling", 1,
             [](R& r, const State&) -> Command {
                 return SetSampling{{static_cast<float>(r.share() * 3), r.below(100) - 1,
                                     static_cast<float>(r.share()), r.bits()}};
             }},

            {"SetCorpus", 1,
             [](R& r, const State&) -> Command {
                 return SetCorpus{{r.yes() ? r.text() : std::string(), r.yes() ? r.bits() : r.bits() % 100}};
             }},

            {"ChangeRun", 1,
             [](R& r, const State&) -> Command {
                 const auto some = [&](Index most) {
                     return r.yes() ? std::optional(r.below(most) - 1) : std::nullopt;
                 };
                 RunChange change{static_cast<Site>(r.below(site_count)),
                                  r.below(5) - 1,
                                  some(6),
                                  some(9),
                                  some(9),
                                  static_cast<Operation>(r.below(7)),
                                  r.yes() ? 0 : r.number()};
                 for (Index i = r.yes() ? r.below(4) : 0; i > 0; --i)
                     change.values.push_back(static_cast<float>(r.number()));
                 return ChangeRun{change};
             }},
            {"SwitchChange", 1,
             [](R& r, const State&) -> Command {
                 return SwitchChange{static_cast<std::size_t>(r.below(4))};
             }},
            {"DropChange", 1,
             [](R& r, const State&) -> Command {
                 return r.below(3) ? DropChange{static_cast<std::size_t>(r.below(4))} : DropChange{};
             }},
            {"ShowBefore", 1, [](R& r, const State&) -> Command { return ShowBefore{r.yes()}; }},

            {"OpenTensors", 1,
             [](R& r, const State&) -> Command {
                 OpenTensors files;
                 for (Index i = r.below(4); i > 0; --i) files.files.push_back(r.text());
                 for (Index i = r.below(3); i > 0; --i)
                     files.answers["element " + std::to_string(i)] = r.text();
                 return files;
             }},
            {"SetTensorRule", 1,
             [](R& r, const State&) -> Command {
                 return SetTensorRule{{static_cast<TensorRule::Causal>(r.below(3)), r.yes()}};
             }},

            {"SetTrainingPlan", 1, [](R& r, const State&) -> Command { return SetTrainingPlan{r.plan()}; }},
            {"ForkTraining", 1,
             [](R& r, const State&) -> Command { return ForkTraining{r.below(1000) - 50, r.values()}; }},
            {"CompareTraining", 1,
             [](R& r, const State&) -> Command {
                 return r.yes() ? CompareTraining{r.plan()} : CompareTraining{};
             }},
            {"ShowTrainingStep", 1,
             [](R& r, const State&) -> Command {
                 return r.below(3) ? ShowTrainingStep{r.below(1000) - 10} : ShowTrainingStep{};
             }},
            {"RunTraining", 1, [](R& r, const State&) -> Command { return RunTraining{r.yes()}; }},
        };
        return all;
    }

    Index below(Index limit) {
        return static_cast<Index>(random_.bits() % static_cast<std::uint64_t>(limit));
    }
    bool yes() { return below(2) == 0; }
    double share() { return random_.uniform(); }
    std::uint64_t bits() { return random_.bits(); }
    template <class T>
    const T& one_of(std::span<const T> list) {
        return list[static_cast<std::size_t>(below(std::ssize(list)))];
    }

    std::string_view subject() { return below(20) ? one_of(app::subject_list()).key : "elsewhere"; }
    std::string_view lens() { return below(20) ? one_of(app::lens_list()).key : "mirror"; }
    std::string_view some_subject() { return yes() ? "" : one_of(app::subject_list()).key; }
    app::Selection selection() {
        app::Selection selection{below(4), below(5) - 1, {}, {}};
        if (yes()) selection.query = below(6) - 1;
        if (yes()) selection.key = below(2'000'000);
        if (yes()) selection.counterpart = below(2'000'000) - 1;
        return selection;
    }
    Stage stage() { return static_cast<Stage>(below(stage_count)); }
    app::MapChoice map() {
        app::MapChoice map{.pooling = static_cast<Pooling>(below(2)),
                           .unit = static_cast<app::Unit>(below(2))};
        do map.stage = stage();
        while (!is_of_pairs(map.stage) && below(20));
        if (below(3) == 0) map.scaling = static_cast<Scaling>(below(3));
        if (below(3) == 0) map.sink = static_cast<Sink>(below(3));
        if (below(3) == 0) map.least = static_cast<float>(share() * 1.1);
        return map;
    }
    app::GeometryState geometry() {
        app::GeometryState made;
        made.part = static_cast<app::GeometryPart>(below(4));
        made.form = static_cast<app::FormOf>(below(3));
        made.shown = static_cast<FormPart>(below(3));
        made.direction = below(9) - 1;
        made.gauge = {static_cast<GaugeKind>(below(4)), share() * 9, below(4), below(4),
                      static_cast<std::uint32_t>(below(5))};
        made.metric = static_cast<app::MetricKind>(below(5));
        if (made.metric == app::MetricKind::own) {
            made.own = app::identity(1 + below(4), 1 + below(4));
            if (yes()) made.own.at(0, 0) = number();
        }
        made.einsum = yes() ? "ij,jd->id with A, V" : text();
        return made;
    }
    app::InverseState inverse() {
        app::InverseState inverse;
        inverse.of = static_cast<app::ChangeOf>(below(app::change_count));
        inverse.components = below(18);
        for (Index i = below(4); i > 0; --i)
            inverse.wish(below(5), below(9) - 1, below(9) ? share() : number());
        app::Pattern& pattern = inverse.pattern;
        pattern.kind = static_cast<app::PatternKind>(below(app::pattern_kind_count));
        pattern.tokens = 1 + below(17);
        pattern.seed = static_cast<std::uint32_t>(bits());
        if (pattern.kind == app::PatternKind::painted)
            for (Index i = below(9) ? pattern.tokens * pattern.tokens : below(9); i > 0; --i)
                pattern.painted.push_back(yes());
        return inverse;
    }
    std::optional<HeadScore> score() {
        if (below(3) == 0) return std::nullopt;
        return static_cast<HeadScore>(below(std::ssize(head_scores)));
    }
    app::FlowChoice flow() {
        app::FlowChoice flow{static_cast<float>(share() * 1.1), static_cast<FlowForm>(below(2)), {}};
        for (Index more = below(10); more > 0; --more) flow.heads.push_back({below(4), below(5) - 1});
        return flow;
    }
    app::Bookmark bookmark() {
        const auto range = [&] {
            const Index begin = below(20) - 1;
            return Range{begin, begin + below(9)};
        };
        app::Bookmark place{below(4), below(5) - 1, range(), range()};
        if (below(20) == 0) place.keys.end = 2'000'000;
        return place;
    }

    app::TrainingValues values() {
        app::TrainingValues v{
            .rate = yes() ? 0.01 : number(), .seed = random_.bits(), .window = below(80) - 4};
        for (Index i = below(3); i > 0; --i) v.ablated.push_back({below(3), below(5)});
        return v;
    }
    app::TrainingPlan plan() {
        app::TrainingPlan plan = one_of(app::training_presets()).plan;
        if (yes()) plan.layers = below(6);
        if (yes()) plan.steps = below(1500);
        if (yes()) plan.values = values();
        if (yes()) plan.changes.push_back({below(300), values()});
        if (yes()) plan.text = text();
        return plan;
    }

    Mask mask(Index levels) {
        if (levels > 0 && yes()) {
            switch (below(3)) {
                case 0: return mask(levels - 1) & mask(levels - 1);
                case 1: return mask(levels - 1) | mask(levels - 1);
                default: return !mask(levels - 1);
            }
        }
        if (below(3) == 0) {
            CellRegion cells;
            for (Index i = below(200); i > 0; --i) {  // the most are too long for a link
                const Index query = below(3000), key = below(3000);
                cells.add({query, query + 1 + below(8)}, {key, key + 1 + below(8)});
            }
            return with_cells(app::mask_atoms()[0].make(8), cells, yes());
        }
        return app::mask_atoms()[static_cast<std::size_t>(below(std::ssize(app::mask_atoms())))].make(
            below(3000));
    }

    app::Axis axis() { return static_cast<app::Axis>(below(5)); }
    app::CellRef cell(const app::State& state) {
        const Stage id = below(4) ? one_of(app::inputs_of(app::worked_of(state).source)) : stage();
        return {id, below(7) - 1, below(7) - 1, false, below(10) == 0};
    }
    // The cell may be one that only other subjects have.
    app::CellRef any_cell(const app::State& state) {
        app::CellRef any = cell(state);
        if (yes()) any.stage = stage();
        any.second = below(4) == 0;
        if (below(4) == 0) any.sink = static_cast<Sink>(below(3));
        return any;
    }
    app::Matrix matrix(Index rows, Index cols) {
        app::Matrix m(rows, cols);
        for (double& value : m.values) value = number();
        return m;
    }
    // Most of the heads are ones that a run could have.
    app::HeadCopy head() {
        const auto odd = [&] { return below(15) == 0; };
        const Index queries = odd() ? 65 : 1 + below(5), keys = yes() ? queries : 1 + below(5),
                    d = 1 + below(4);
        const auto vectors = [&](Index rows, Index cols) {
            app::Matrix m(odd() ? rows + 1 : rows, odd() ? cols + 1 : cols);
            for (double& value : m.values) value = odd() ? number() : static_cast<float>(random_.normal());
            return m;
        };
        const auto names = [&](Index count) {
            std::vector<std::string> all;
            for (Index i = odd() ? 1 : 0; i < count; ++i) all.push_back(text());
            return all;
        };
        app::HeadCopy head{.q = vectors(queries, d),
                           .k = vectors(keys, d),
                           .v = below(4) ? vectors(keys, 1 + below(4)) : app::Matrix(),
                           .query_labels = names(queries),
                           .key_labels = names(keys),
                           .scale_by_sqrt_d = yes(),
                           .temperature = below(4) ? 1 : number(),
                           .softcap = below(4) ? 0 : number(),
                           .from = text()};
        if (yes()) {
            head.allowed.emplace();
            for (Index i = odd() ? 1 : 0; i < queries * keys; ++i) head.allowed->push_back(yes());
        }
        return head;
    }
    double number() {
        switch (below(8)) {
            case 0: return 0;
            case 1: return static_cast<double>(below(9)) / 4;
            case 2: return random_.normal() * 1e30;
            case 3: return random_.normal() * 1e-310;
            case 4: return std::numeric_limits<double>::infinity() * (below(2) ? 1 : -1);
            case 5: return below(3) ? 1e300 : std::numeric_limits<double>::quiet_NaN();
            default: return random_.normal();
        }
    }
    std::string text() {
        static constexpr const char* pieces[] = {"",  "cat", ",", "\\", " ",    "=",  "&",  "%",
                                                 "#", "+",   "ä", "🐈", "\xff", "\n", "a.b"};
        std::string text;
        for (Index i = below(6); i > 0; --i) text += pieces[below(std::ssize(pieces))];
        return below(20) ? text : std::string(static_cast<std::size_t>(below(3000)), 'x');
    }

    Random random_;
};

}  // namespace attn::test
