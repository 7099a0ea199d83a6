// Holds the explanation of one number, as the inspector shows it, whatever the number belongs to.
#pragma once

#include <string>
#include <vector>

namespace attn::app {

struct Explained {
    std::string title;       // "Scores[cat, sat]"
    std::string provenance;  // "computed · f32"
    bool masked = false;     // the mask hides the cell
    double f32 = 0;
    double f64 = 0;

    std::string formula;  // "Σ_a Q[cat, a] · K[sat, a]"
    // The operands of a sum, one per row.
    struct Operand {
        std::string name;
        double left = 0;
        double right = 0;
        double product = 0;
    };
    std::string operands_title;
    std::vector<Operand> operands;

    // The chain of steps that the cell belongs to: "scaled", "1.27 × 0.5", "0.635".
    struct Step {
        std::string name;
        std::string arithmetic;
        std::string value;
        bool current = false;
    };
    std::vector<Step> steps;

    std::string note;  // what a tutorial prints, or why a cell is empty
};

}  // namespace attn::app
