// Holds the explanation of one number, as the inspector shows it, whatever the number belongs to.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/calculation.hpp"
#include "app/state.hpp"
#include "attention/head_index.hpp"
#include "model/intervention.hpp"

namespace attn::app {

// A number of any layer and head.
struct CellPlace {
    HeadIndex head;
    CellRef cell;
    bool operator==(const CellPlace&) const = default;
};

// Numbers of a run that can be changed together.
struct RunPart {
    Site site = Site::head_output;
    Index attention = 0;               // its number (Network::attentions)
    std::optional<Index> head = {};    // for K and V, the key-value head that several query heads share
    std::optional<Index> row = {};     // a token or query
    std::optional<Index> column = {};  // a component or key; none of these: all
    bool operator==(const RunPart&) const = default;
};

struct Explained {
    std::string title = {};       // "Scores[cat, sat]"
    std::string provenance = {};  // "computed · f32"
    bool masked = false;          // the mask hides the cell
    double f32 = 0;
    double f64 = 0;
    std::string unit = {};   // "bytes", "nats"; empty: no unit
    bool recomputed = true;  // false: only the run had the inputs that f64 would need
    // Set if f64 is one step of a run whose operands are f32: "this step, from the run's f32 numbers". It has
    // no more digits than these.
    std::string f64_is = {};
    // The same number of the run, recomputed in double from the weights; until that is done, its progress.
    std::optional<double> in_double = {};
    std::optional<float> in_double_progress = {};

    std::string formula = {};  // "Σ_a Q[cat, a] · K[sat, a]"
    // The operands of a sum, one per row, and their places. left and right are multiplied or, with another
    // sign, combined by a function of their difference.
    struct Operand {
        std::string name;
        double left = 0;
        double right = 0;
        double product = 0;
        std::optional<CellPlace> left_at = {}, right_at = {}, product_at = {};
    };
    std::string operands_title = {};
    const char* sign = "×";
    std::vector<Operand> operands = {};

    // The chain of steps that the cell belongs to: "scaled", "1.27 × 0.5", "0.635".
    struct Step {
        std::string name;
        std::string arithmetic;
        std::string value;
        bool current = false;
        std::optional<CellPlace> at = {};
    };
    std::vector<Step> steps = {};

    // The part of a run that the number is about, if that is not the number itself.
    std::optional<RunPart> part = {};

    std::string note = {};  // what a tutorial prints, or why a cell is empty

    // The calculation whose last line is f64. Its columns left() and right() are the operands, under these
    // names.
    std::string left_name = "a", right_name = "b";
    Calculation calculation = {};
    Column left() const;
    Column right() const;
    Expression dot() const;  // Σ left · right
    Expression sum() const;  // Σ left
    // Name the columns, too.
    Expression dot(std::string left, std::string right);
    Expression sum(std::string left);

    // Adds an operand. The product of a term is left · right.
    void term(std::string name, double left, double right, std::optional<CellPlace> left_at = {},
              std::optional<CellPlace> right_at = {}, std::optional<CellPlace> product_at = {});
    void summand(std::string name, double value, std::optional<CellPlace> at = {}) {
        term(std::move(name), value, 1, at);
    }
    // Adds a line to the calculation; f64 becomes its value.
    Expression line(std::string name, const Expression& expression);
    // Adds a line that is a step, too, the current one until the next. The arithmetic is the expression with
    // its numbers, unless words replace it; copies name the line after the step.
    Expression step(std::string name, const Expression& expression, std::optional<CellPlace> at = {});
    Expression step(std::string name, const Expression& expression, std::string words,
                    std::optional<CellPlace> at = {});
    // Adds a number that the steps show and the calculation does not use.
    void beside(std::string name, double value, std::string words = {}, std::optional<CellPlace> at = {});
};

// Rounds to f32, in which the page computes.
inline double single(double value) { return static_cast<double>(static_cast<float>(value)); }

}  // namespace attn::app
