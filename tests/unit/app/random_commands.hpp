// Makes random commands of all kinds.
#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/lesson_state.hpp"
#include "attention/mask_presets.hpp"
#include "lenses/gradient/gradient.hpp"
#include "lenses/inverse/inverse.hpp"
#include "lenses/masks/masks.hpp"
#include "lenses/tiles/tiles.hpp"
#include "unit/app/random_values.hpp"

namespace attn::test {

// Makes random commands of every kind, both ones that a user might give and ones that must be refused;
// command_test.cpp checks that no kind is missing.
class RandomCommands : private RandomValues {
  public:
    using RandomValues::RandomValues;

    app::Command next(const app::State& state) {
        if (below(5) == 0) return field();
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
            {"OpenLesson", 1,
             [](R& r, const State&) -> Command {
                 const char* names[] = {"first-steps", "one-token-back.de", "", "No Name"};
                 return OpenLesson{
                     {names[r.below(4)], r.below(3) ? "" : "---\ntitle: a\n---\n## b?", r.below(62) - 1}};
             }},
            {"ShowLessonStep", 1,
             [](R& r, const State&) -> Command { return ShowLessonStep{r.below(62) - 1}; }},
            {"CloseLesson", 1, [](R&, const State&) -> Command { return CloseLesson{}; }},
            {"Together", 1,
             [](R& r, const State&) -> Command {
                 return Together{{OpenSubject{r.subject()}, OpenLens{r.lens()}}};
             }},
            {"Select", 1, [](R& r, const State&) -> Command { return Select{r.selection()}; }},
            {"Pin", 1,
             [](R& r, const State& s) -> Command { return r.below(4) ? Pin{r.any_cell(s)} : Pin{}; }},
            {"SetMap", 1, [](R& r, const State&) -> Command { return SetMap{r.map(), r.some_subject()}; }},
            {"SetSpans", 1,
             [](R& r, const State&) -> Command {
                 SetSpans set{{}, r.some_subject()};
                 for (Index begin = 0; r.below(3); begin += r.below(4)) {
                     const Index end = begin + 1 + r.below(3);
                     set.spans.push_back({{begin, end}, r.text(), r.below(2)});
                     begin = end;
                 }
                 return set;
             }},
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

            {"StepAlong", 1,
             [](R&, const State&) -> Command { return gradient::StepAlong{{Set<gradient::State>{}}}; }},
            {"MakeItSo", 1, [](R& r, const State&) -> Command { return MakeItSo{{r.field()}}; }},
            {"SetTileSize", 1,
             [](R& r, const State&) -> Command { return tiles::SetTileSize{{r.below(140), r.below(140)}}; }},
            {"SetTile", 1,
             [](R& r, const State&) -> Command { return tiles::SetTile{r.below(120'000) - 10}; }},

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

            {"SetContrast", 1,
             [](R& r, const State&) -> Command {
                 return SetContrast{{r.yes() ? r.text() : std::string(), r.yes() ? r.text() : ""}};
             }},

            {"ChangeRun", 1,
             [](R& r, const State&) -> Command {
                 const auto some = [&](Index most) {
                     return r.yes() ? std::optional(r.below(most) - 1) : std::nullopt;
                 };
                 RunChange change{
                     {static_cast<Site>(r.below(site_count)), r.below(5) - 1, some(6), some(9), some(9)},
                     static_cast<Operation>(r.below(7)),
                     r.yes() ? 0 : r.number()};
                 for (Index i = r.yes() ? r.below(4) : 0; i > 0; --i)
                     change.values.push_back(static_cast<float>(r.number()));
                 if (r.below(3) == 0) {
                     change.operation = Operation::add;
                     change.at.site = r.below(4) ? r.one_of(std::span<const Site>(steering_sites)) : Site::q;
                     change.at.column.reset();
                     if (r.below(4)) change.values.clear();
                     change.direction = r.direction();
                 }
                 return ChangeRun{
                     change, r.below(4) ? std::nullopt : std::optional(static_cast<std::size_t>(r.below(4)))};
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

    // Sets a field of a lens as a link does, to an allowed value or to one beyond its limits.
    struct SetField {
        const app::LinkRow* row;
        std::string text;
        Status apply(app::State& state) const {
            return row->read(state, text) ? ok() : Status(Error{"The value is not one of the words."});
        }
        std::string describe(const app::State&) const { return std::string(row->key) + "=" + text; }
    };
    app::Command field() {
        std::vector<const app::LinkRow*> rows;
        for (const app::LensEntry& lens : app::lens_list())
            for (const app::LinkRow& row : lens.links.rows)
                if (row.values) rows.push_back(&row);
        // Masks are composed of terms, to any depth.
        if (below(20) == 0) return app::Set<app::masks::State>{{mask(3), 0, 0, yes()}};
        const app::LinkRow* row = one_of(std::span<const app::LinkRow* const>(rows));
        std::string text;
        for (const app::FieldValue& value : row->values()) text += (text.empty() ? "" : ",") + spelled(value);
        return SetField{row, text};
    }
    std::string spelled(const app::FieldValue& value) {
        const bool beyond = below(10) == 0;
        switch (value.kind) {
            case app::FieldValue::Kind::word: return beyond ? "nothing" : std::string(value.word);
            case app::FieldValue::Kind::named:
            case app::FieldValue::Kind::spelled: return beyond ? "nothing" : std::string(one_of(value.names));
            case app::FieldValue::Kind::whole:
            case app::FieldValue::Kind::real: break;
        }
        // Most are small, as a person's are.
        const double most = std::min({value.most, value.least + 1e6, yes() ? value.least + 12 : HUGE_VAL});
        const double number = beyond ? value.least - 1 : value.least + share() * (most - value.least);
        return value.kind == app::FieldValue::Kind::real
                   ? app::shortest(number)
                   : std::to_string(static_cast<std::int64_t>(std::round(number)));
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
                           .unit = static_cast<Unit>(below(4)),
                           .mean = static_cast<app::HeadMean>(below(3))};
        do map.stage = stage();
        while (!is_of_pairs(map.stage) && below(20));
        if (below(3) == 0) map.scaling = static_cast<Scaling>(below(3));
        if (below(3) == 0) map.sink = static_cast<Sink>(below(3));
        if (below(3) == 0) map.least = static_cast<float>(share() * 1.1);
        return map;
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

    // Most of them take what their kind takes.
    SteeringDirection direction() {
        SteeringDirection direction{.kind = static_cast<SteeringDirection::Kind>(below(6))};
        const bool odd = below(10) == 0;
        if (direction.is_of_token() || odd) direction.token = static_cast<std::int32_t>(below(900)) - odd;
        if (direction.kind == SteeringDirection::Kind::written || odd) direction.head = {below(5), below(6)};
        if ((direction.kind == SteeringDirection::Kind::second_text && yes()) || odd)
            direction.place = below(9);
        return direction;
    }

    app::TrainingValues values() {
        app::TrainingValues v{.rate = yes() ? 0.01 : number(), .seed = bits(), .window = below(80) - 4};
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

    app::Axis axis() { return static_cast<app::Axis>(below(5)); }
    app::RunCell cell(const app::State& state) {
        const Stage id = below(4) ? one_of(app::inputs_of(app::worked_of(state).source)) : stage();
        return {id, below(7) - 1, below(7) - 1, false, below(10) ? Unit::tokens : Unit::words};
    }
    // The cell may be one that only other subjects have.
    app::CellRef any_cell(const app::State& state) {
        const app::CellKinds kinds = app::lens_of(state).cells;
        if (!kinds.empty() && below(4) == 0)
            return (*one_of(kinds))(below(7) - 1, below(7) - 1, below(7) - 1);
        app::RunCell any = cell(state);
        if (yes()) any.stage = stage();
        any.second = below(4) == 0;
        if (below(4) == 0) any.sink = static_cast<Sink>(below(3));
        if (below(4) == 0) any.unit = static_cast<Unit>(below(4));
        if (below(4) == 0) any.mean = static_cast<app::HeadMean>(below(3));
        if (below(4)) return any;
        return app::MapSum{static_cast<app::MapTotal>(below(4)),
                           any.row,
                           any.stage,
                           any.second,
                           any.unit,
                           any.sink,
                           any.mean};
    }
};

}  // namespace attn::test
