// Explains the numbers of lens Yours.
#include <array>

#include "app/format.hpp"
#include "lenses/yours/yours.hpp"
#include "runs/implementation_explained.hpp"
#include "subjects/explain.hpp"

namespace attn::app::yours {

namespace {

constexpr std::array<const char*, 4> matrix_names{"Yours", "Right", "Yours − right", "With this mistake"};

std::string element(Matrix which, Index query, Index column) {
    return std::string(matrix_names[static_cast<std::size_t>(which)]) + "[" + std::to_string(query) + ", " +
           std::to_string(column) + "]";
}

// A number of the right result, or of what a mistake makes of it.
void explain_computed(Explained& out, Shown& shown, Matrix which, Index query, Index column) {
    const AttentionCase& given = shown.given();
    ImplementationRun& run = which == Matrix::right ? shown.right() : shown.explained();
    const Index batch = shown.batch();
    const auto numbered = [](const char* name) {
        return [name](Index i) { return name + std::to_string(i); };
    };
    const ExplainedRun of{run, given, batch, shown.head(), numbered("query "), numbered("key ")};
    if (run.implementation().inputs.swap != InputReading::Swap::none) {
        out.formula = "the whole computation in double, with this mistake";
        out.recomputed = false;
        out.step("with the mistake", shown.value(which, query, column));
    } else if (shown.of_weights() && given.weights.heads < given.heads()) {
        explain_mean_weight(out, run, batch, query, column);
    } else if (shown.of_weights()) {
        app::explain_weight(out, of, query, column);
    } else if (given.w_o.empty()) {
        app::explain_output(out, of, query, column);
    } else {
        const bool has_bias = run.implementation().output_bias && !given.b_o.empty();
        out.formula = "Σ_a merged[a] · W_O[a, column]" + std::string(has_bias ? " + b_O[column]" : "");
        out.operands_title = "Merged heads · a column of W_O";
        const std::vector<double> merged = run.merged_row(batch, query);
        for (std::size_t a = 0; a < merged.size(); ++a)
            out.term(std::to_string(a), merged[a], given.w_o.broadcast(0, 0, static_cast<Index>(a), column));
        const Expression sum = out.step("Σ", out.dot("merged", "w_o"));
        if (has_bias) out.step("+ b_O", sum + given.b_o.broadcast(0, 0, 0, column));
    }
}

std::optional<Explained> explain_output(Model& model, Subject& subject, const LensCell& cell) {
    Shown& shown = *model.shown;
    const auto which = static_cast<Matrix>(cell.at[0]);
    const Index query = cell.at[1], column = cell.at[2];
    if (query >= shown.queries() || column >= shown.columns()) return std::nullopt;
    Explained out{.title = element(which, query, column)};
    const auto place = [&](Matrix of) {
        return CellPlace{subject.chosen_head(), cells::output(of, query, column)};
    };
    switch (which) {
        case Matrix::returned:
            out.formula = "as your code returned it";
            out.recomputed = false;
            out.step("yours", shown.value(Matrix::returned, query, column));
            break;
        case Matrix::right: explain_computed(out, shown, which, query, column); break;
        case Matrix::difference: {
            out.formula = "yours − right";
            const Expression yours = out.step("yours", shown.value(Matrix::returned, query, column),
                                              place(Matrix::returned)),
                             right = out.step("right", shown.value(Matrix::right, query, column),
                                              place(Matrix::right));
            out.step("difference", yours - right);
            break;
        }
        case Matrix::explained:
            if (model.result->verdict.kind != Verdict::Kind::mistake) return std::nullopt;
            explain_computed(out, shown, which, query, column);
            out.beside("yours", shown.value(Matrix::returned, query, column), {}, place(Matrix::returned));
            break;
    }
    return out;
}

std::optional<Explained> explain_near(Model& model, Subject&, const LensCell& cell) {
    if (cell.at[0] >= std::ssize(model.result->nearest)) return std::nullopt;
    const NearMiss& miss = model.result->nearest[static_cast<std::size_t>(cell.at[0])];
    Explained out{.title = miss.causes.front().mistake->name};
    out.formula = "√(mean (yours − with the mistake)² / mean yours²)";
    out.recomputed = false;
    out.step("distance", miss.distance);
    out.note = std::string("What comes out ") + miss.causes.front().mistake->cause +
               ", on the rows that tell most: the furthest off, the nearest, the first, middle and last.";
    return out;
}

std::optional<Explained> explain_precision(Model& model, Subject&, const LensCell& cell) {
    if (cell.at[0] >= std::ssize(model.result->levels)) return std::nullopt;
    const LevelFit& level = model.result->levels[static_cast<std::size_t>(cell.at[0])];
    const bool mean = cell.at[1] == 0;
    Explained out{.title = std::string(level.level->name) + (mean ? ", mean of the rows" : ", worst row")};
    out.formula = "√mean (yours − right)² / √mean (rounded − right)², of a row";
    out.recomputed = false;
    out.step("ratio", mean ? level.fit.mean : level.fit.worst);
    out.note =
        "The right result is computed once more with every step rounded as this precision rounds it. About "
        "1: "
        "the difference is what that precision costs.";
    return out;
}

constexpr std::array<ModelNumber<Model>, 3> declared{{
    {&cells::output, explain_output},
    {&cells::near, explain_near},
    {&cells::precision, explain_precision},
}};

}  // namespace

CellKinds numbers() { return kinds_of(declared); }

std::optional<Explained> Model::explain(Subject& subject, const LensCell& cell) {
    if (!result || !shown) return std::nullopt;
    auto out = explain_by(declared, *this, subject, cell);
    if (!out) return out;
    out->f32 = single(out->f64);
    out->provenance = is_example()
                          ? "generated with seed " + std::to_string(example_seed) + ", with a mistake planted"
                          : "loaded from " + state.file;
    return out;
}

}  // namespace attn::app::yours
