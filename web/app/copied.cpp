#include "app/copied.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <span>
#include <string_view>

#include "app/format.hpp"
#include "app/notation.hpp"

namespace attn::app {

namespace {

// A number without a calculation becomes a calculation of its own.
Calculation calculation_of(const Explained& why) {
    Calculation calculation = why.calculation;
    if (calculation.empty()) calculation.line("value", why.f64);
    return calculation;
}

std::string heading(const Explained& why) {
    return on_one_line(why.title) + (why.provenance.empty() ? "" : ", " + on_one_line(why.provenance)) +
           (why.f64_is.empty() ? "" : ": " + why.f64_is) + ".";
}

// ---- Programs ---------------------------------------------------------------------------------------------

std::string number(double value, Dialect dialect) {
    const bool numpy = dialect == Dialect::numpy;
    if (std::isnan(value)) return numpy ? "math.nan" : "NAN";
    if (std::isinf(value)) return std::string(value < 0 ? "-" : "") + (numpy ? "math.inf" : "INFINITY");
    std::string text = shortest(value);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
}

std::string numbers(const std::vector<double>& values, Dialect dialect) {
    constexpr std::size_t a_line = 6;
    std::string text;
    for (std::size_t i = 0; i < values.size(); ++i)
        text += (i == 0                    ? ""
                 : values.size() <= a_line ? ", "
                 : i % a_line == 0         ? ",\n    "
                                           : ", ") +
                number(values[i], dialect);
    return values.size() <= a_line ? text : "\n    " + text;
}

constexpr std::array function_names{"exp", "log", "tanh", "sqrt", "erfc", "max"};
std::string function_name(Expression::Kind kind) {
    return function_names[static_cast<std::size_t>(kind) - static_cast<std::size_t>(Expression::Kind::exp)];
}

struct Program {
    Dialect dialect;

    std::string number(double value, bool is_alone) const {
        const std::string text = attn::app::number(value, dialect);
        return text[0] == '-' && !is_alone ? "(" + text + ")" : text;
    }
    static const std::string& line(const Expression& e) { return e.name(); }
    static const char* sign(Expression::Kind kind) {
        switch (kind) {
            case Expression::Kind::add: return " + ";
            case Expression::Kind::subtract: return " - ";
            case Expression::Kind::multiply: return " * ";
            default: return " / ";
        }
    }
    std::string call(const Expression& e, const std::string& arguments) const {
        const bool is_numpy = dialect == Dialect::numpy;
        const char* library = !is_numpy ? "std::" : e.kind() == Expression::Kind::max ? "" : "math.";
        return library + function_name(e.kind()) + "(" + arguments + ")";
    }
    std::string over_columns(const Expression& e) const {
        const std::string& a = e.columns()[0].name;
        if (e.kind() == Expression::Kind::spread)
            return "spread(" + a + ", " + in_notation(e.operands()[0], *this) + ")";
        const std::string library = dialect == Dialect::numpy ? "np." : "";
        return library +
               (e.kind() == Expression::Kind::sum ? "sum(" + a : "dot(" + a + ", " + e.columns()[1].name) +
               ")";
    }
};

bool uses(const Expression& e, Expression::Kind kind) {
    return e.kind() == kind ||
           std::ranges::any_of(e.operands(), [&](const Expression& each) { return uses(each, kind); });
}
bool uses(const Calculation& calculation, Expression::Kind kind) {
    return std::ranges::any_of(calculation.lines(),
                               [&](const Calculation::Line& line) { return uses(line.expression, kind); });
}

std::string numpy_text(const Explained& why, const Calculation& calculation) {
    std::string text = "# " + heading(why) + "\nimport math\nimport numpy as np\n\n";
    if (uses(calculation, Expression::Kind::spread))
        text += "def spread(a, m):\n    return np.sum((a - m) ** 2)\n\n";
    for (const Column* column : calculation.columns())
        text += column->name + " = np.array([" + numbers(column->values, Dialect::numpy) + "])\n";
    for (const auto& [name, expression] : calculation.lines())
        text += name + " = " + in_notation(expression, Program{Dialect::numpy}) + "  # " +
                fixed(expression.value(), 12) + "\n";
    return text + "print(repr(float(" + calculation.result().name() + ")))\n";
}

std::string cpp_text(const Explained& why, const Calculation& calculation) {
    std::string text = "// " + heading(why) +
                       "\n#include <algorithm>\n#include <cmath>\n#include <cstdio>\n#include <numeric>\n"
                       "#include <vector>\n\nusing Vector = std::vector<double>;\n";
    if (uses(calculation, Expression::Kind::dot))
        text +=
            "double dot(const Vector& a, const Vector& b) { return std::inner_product(a.begin(), a.end(), "
            "b.begin(), 0.0); }\n";
    if (uses(calculation, Expression::Kind::sum))
        text += "double sum(const Vector& a) { return std::accumulate(a.begin(), a.end(), 0.0); }\n";
    if (uses(calculation, Expression::Kind::spread))
        text +=
            "double spread(const Vector& a, double m) {\n    double sum = 0;\n"
            "    for (const double each : a) sum += (each - m) * (each - m);\n    return sum;\n}\n";
    text += "\nint main() {\n";
    for (const Column* column : calculation.columns())
        text += "const Vector " + column->name + "{" + numbers(column->values, Dialect::cpp) + "};\n";
    for (const auto& [name, expression] : calculation.lines())
        text += "const double " + name + " = " + in_notation(expression, Program{Dialect::cpp}) + ";  // " +
                fixed(expression.value(), 12) + "\n";
    return text + "std::printf(\"%.17g\\n\", " + calculation.result().name() + ");\n}\n";
}

// ---- LaTeX ------------------------------------------------------------------------------------------------

std::string latex_number(double value) {
    if (std::isnan(value)) return "\\mathrm{NaN}";
    if (std::isinf(value)) return value < 0 ? "-\\infty" : "\\infty";
    std::string text = shortest(value);
    // A computed number has more digits than anybody reads; a given one is short.
    if (text.size() > 14) {
        char rounded[32];
        std::snprintf(rounded, sizeof rounded, "%.12g", value);
        text = rounded;
    }
    if (const auto e = text.find('e'); e != std::string::npos) {
        const std::string exponent = std::to_string(std::stoi(text.substr(e + 1)));
        text = text.substr(0, e) + " \\cdot 10^{" + exponent + "}";
    }
    return text;
}
// Writes a number inside an expression.
std::string latex_factor(double value) {
    const std::string text = latex_number(value);
    return text.find_first_of("- ") != std::string::npos ? "(" + text + ")" : text;
}
std::string latex_name(std::string_view name) {
    if (name.size() == 1) return std::string(name);
    std::string text;
    for (const char c : name) text += c == '_' ? std::string("\\ ") : std::string(1, c);
    return "\\mathrm{" + text + "}";
}

// Joins the terms of a sum, several per line if lines are allowed.
std::string latex_sum(std::span<const std::string> terms, bool has_lines) {
    constexpr std::size_t a_line = 6;
    std::string text;
    for (std::size_t i = 0; i < terms.size(); ++i)
        text += (i == 0 ? "" : has_lines && i % a_line == 0 ? " \\\\\n&\\quad + " : " + ") + terms[i];
    return text.empty() ? "0" : text;
}

// Writes names, or numbers in their places.
struct Latex {
    bool in_digits;
    const Expression& whole;  // its sum may take several lines, one inside a root may not

    static std::string number(double value, bool is_alone) {
        return is_alone ? latex_number(value) : latex_factor(value);
    }
    std::string line(const Expression& e) const {
        return in_digits ? latex_factor(e.value()) : latex_name(e.name());
    }
    static const char* sign(Expression::Kind kind) {
        return kind == Expression::Kind::multiply ? " \\cdot " : Program::sign(kind);
    }
    static std::string call(const Expression& e, const std::string& arguments) {
        switch (e.kind()) {
            case Expression::Kind::sqrt: return "\\sqrt{" + arguments + "}";
            case Expression::Kind::log: return "\\ln(" + arguments + ")";
            case Expression::Kind::erfc: return "\\operatorname{erfc}(" + arguments + ")";
            default: return "\\" + function_name(e.kind()) + "(" + arguments + ")";
        }
    }
    std::string over_columns(const Expression& e) const {
        const Column& a = e.columns()[0];
        const auto term = [&](const std::string& left, const std::string& right) {
            if (e.kind() == Expression::Kind::sum) return left;
            return e.kind() == Expression::Kind::dot ? left + (in_digits ? " \\cdot " : " ") + right
                                                     : "(" + left + " - " + right + ")^2";
        };
        const std::string mean = e.operands().empty() ? "" : in_notation(e.operands()[0], *this, 2);
        if (!in_digits)
            return "\\sum_i " + term(latex_name(a.name) + "_i", e.kind() == Expression::Kind::dot
                                                                    ? latex_name(e.columns()[1].name) + "_i"
                                                                    : mean);
        std::vector<std::string> terms;
        for (std::size_t i = 0; i < a.values.size(); ++i)
            terms.push_back(term(
                e.kind() == Expression::Kind::spread ? latex_number(a.values[i]) : latex_factor(a.values[i]),
                e.kind() == Expression::Kind::dot ? latex_factor(e.columns()[1].values[i]) : mean));
        return latex_sum(terms, &e == &whole);
    }
};

std::string latex_text(const Explained& why, const Calculation& calculation) {
    std::string text = "% " + heading(why) + "\n\\begin{align*}\n";
    for (const auto& line : calculation.lines()) {
        const auto& [name, expression] = line;
        const std::string names = in_notation(expression, Latex{false, expression}),
                          digits = in_notation(expression, Latex{true, expression}),
                          value = latex_number(expression.value());
        text += latex_name(name) + " &= " + names;
        if (digits != names) text += " \\\\\n&= " + digits;
        if (value != digits) text += " \\\\\n&= " + value;
        text += &line == &calculation.lines().back() ? "\n" : " \\\\\n";
    }
    return text + "\\end{align*}\n";
}

}  // namespace

std::string copied(const Explained& why, Dialect dialect) {
    const Calculation calculation = calculation_of(why);
    switch (dialect) {
        case Dialect::latex: return latex_text(why, calculation);
        case Dialect::numpy: return numpy_text(why, calculation);
        case Dialect::cpp: break;
    }
    return cpp_text(why, calculation);
}

}  // namespace attn::app
