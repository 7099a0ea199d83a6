#include "app/copied.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <span>
#include <string_view>

#include "app/format.hpp"

namespace attn::app {

namespace {

// A function of numbers as each dialect writes it; it takes one argument unless it is max.
struct Function {
    std::string_view name, latex, numpy, cpp;
};
constexpr std::array functions{
    Function{"exp", "\\exp", "math.exp", "std::exp"},
    Function{"log", "\\ln", "math.log", "std::log"},
    Function{"tanh", "\\tanh", "math.tanh", "std::tanh"},
    Function{"sqrt", "\\sqrt", "math.sqrt", "std::sqrt"},
    Function{"erfc", "\\operatorname{erfc}", "math.erfc", "std::erfc"},
    Function{"max", "\\max", "max", "std::max"},
};

bool begins_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool continues_name(char c) { return begins_name(c) || std::isdigit(static_cast<unsigned char>(c)); }
bool begins_number(char c) { return std::isdigit(static_cast<unsigned char>(c)) || c == '.'; }

// Splits an expression into names, numbers and signs; blanks are left out.
std::vector<std::string> tokens_of(std::string_view text) {
    std::vector<std::string> tokens;
    for (std::size_t i = 0; i < text.size();) {
        std::size_t end = i + 1;
        if (begins_name(text[i])) {
            while (end < text.size() && continues_name(text[end])) ++end;
        } else if (begins_number(text[i])) {
            // An exponent takes its sign along.
            while (end < text.size() && (begins_number(text[end]) || text[end] == 'e' ||
                                         ((text[end] == '-' || text[end] == '+') && text[end - 1] == 'e')))
                ++end;
        }
        if (text[i] != ' ') tokens.emplace_back(text.substr(i, end - i));
        i = end;
    }
    return tokens;
}

struct Columns {
    const Explained& why;
    std::vector<Explained::Vector> vectors;

    explicit Columns(const Explained& explained) : why(explained), vectors(explained.vectors) {
        Explained::Vector left{why.left_name, {}}, right{why.right_name, {}};
        for (const auto& operand : why.operands) {
            left.values.push_back(operand.left);
            right.values.push_back(operand.right);
        }
        if (left.name != right.name) vectors.insert(vectors.begin(), right);
        vectors.insert(vectors.begin(), left);
        std::erase_if(vectors, [&](const Explained::Vector& each) { return !is_used(each.name); });
    }
    bool is_used(std::string_view name) const {
        return std::ranges::any_of(why.lines, [&](const Explained::Line& line) {
            return std::ranges::count(tokens_of(line.expression), name) > 0;
        });
    }
    const std::vector<double>& of(std::string_view name) const {
        static const std::vector<double> none;
        const auto found = std::ranges::find(vectors, name, &Explained::Vector::name);
        return found == vectors.end() ? none : found->values;
    }
};

// A number that only stands there is its own calculation.
Explained with_lines(Explained why) {
    if (why.lines.empty()) why.lines.push_back({"value", shortest(why.f64), why.f64});
    return why;
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

std::string program_expression(std::string_view expression, Dialect dialect) {
    const bool numpy = dialect == Dialect::numpy;
    const std::vector<std::string> tokens = tokens_of(expression);
    std::string text;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const std::string& token = tokens[i];
        const auto function = std::ranges::find(functions, token, &Function::name);
        if (numpy && (token == "dot" || token == "sum"))
            text += "np." + token;
        else if (function != functions.end())
            text += numpy ? function->numpy : function->cpp;
        else if (token == "inf" || token == "nan")
            text += number(token == "inf" ? HUGE_VAL : std::nan(""), dialect);
        else if (begins_number(token[0]))
            text += number(read_number(token).value_or(0), dialect);
        else if (token == "*" || token == "/" || (token == "-" && i > 0 && tokens[i - 1] != "(") ||
                 token == "+")
            text += " " + token + " ";
        else
            text += token == "," ? ", " : token;
    }
    return text;
}

std::string numpy_text(const Explained& why, const Columns& columns) {
    std::string text = "# " + heading(why) + "\nimport math\nimport numpy as np\n\n";
    if (columns.is_used("spread")) text += "def spread(a, m):\n    return np.sum((a - m) ** 2)\n\n";
    for (const auto& [name, values] : columns.vectors)
        text += name + " = np.array([" + numbers(values, Dialect::numpy) + "])\n";
    for (const auto& line : why.lines)
        text += line.name + " = " + program_expression(line.expression, Dialect::numpy) + "  # " +
                fixed(line.value, 12) + "\n";
    return text + "print(repr(float(" + why.lines.back().name + ")))\n";
}

std::string cpp_text(const Explained& why, const Columns& columns) {
    std::string text = "// " + heading(why) +
                       "\n#include <algorithm>\n#include <cmath>\n#include <cstdio>\n#include <numeric>\n"
                       "#include <vector>\n\nusing Vector = std::vector<double>;\n";
    if (columns.is_used("dot"))
        text +=
            "double dot(const Vector& a, const Vector& b) { return std::inner_product(a.begin(), a.end(), "
            "b.begin(), 0.0); }\n";
    if (columns.is_used("sum"))
        text += "double sum(const Vector& a) { return std::accumulate(a.begin(), a.end(), 0.0); }\n";
    if (columns.is_used("spread"))
        text +=
            "double spread(const Vector& a, double m) {\n    double sum = 0;\n"
            "    for (const double each : a) sum += (each - m) * (each - m);\n    return sum;\n}\n";
    text += "\nint main() {\n";
    for (const auto& [name, values] : columns.vectors)
        text += "const Vector " + name + "{" + numbers(values, Dialect::cpp) + "};\n";
    for (const auto& line : why.lines)
        text += "const double " + line.name + " = " + program_expression(line.expression, Dialect::cpp) +
                ";  // " + fixed(line.value, 12) + "\n";
    return text + "std::printf(\"%.17g\\n\", " + why.lines.back().name + ");\n}\n";
}

// ---- LaTeX ------------------------------------------------------------------------------------------------

std::string latex_number(double value) {
    if (std::isnan(value)) return "\\mathrm{NaN}";
    if (std::isinf(value)) return value < 0 ? "-\\infty" : "\\infty";
    std::string text = shortest(value);
    // What was computed has more digits than anybody reads; what was given is short.
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
// A number inside of an expression.
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

// Joins the terms of a sum, a few on each line.
std::string latex_sum(std::span<const std::string> terms) {
    constexpr std::size_t a_line = 6;
    std::string text;
    for (std::size_t i = 0; i < terms.size(); ++i)
        text += (i == 0 ? "" : i % a_line == 0 ? " \\\\\n&\\quad + " : " + ") + terms[i];
    return text;
}

// Writes dot(a, b), sum(a) or spread(a, m), with the names or, if `written_out`, with all numbers.
std::string latex_of_vectors(const Columns& columns, std::span<const std::string> call, bool written_out) {
    const std::string& a = call[2];
    const std::string b = call.size() > 4 ? call[4] : "";
    const auto indexed = [](const std::string& name) { return latex_name(name) + "_i"; };
    if (!written_out)
        return "\\sum_i " + (call[0] == "dot"   ? indexed(a) + " " + indexed(b)
                             : call[0] == "sum" ? indexed(a)
                                                : "(" + indexed(a) + " - " + latex_name(b) + ")^2");
    const std::vector<double>&left = columns.of(a), &right = columns.of(b);
    const auto line = std::ranges::find(columns.why.lines, b, &Explained::Line::name);
    std::vector<std::string> terms;
    for (std::size_t i = 0; i < left.size(); ++i)
        terms.push_back(call[0] == "dot" ? latex_factor(left[i]) + " \\cdot " + latex_factor(right[i])
                        : call[0] == "sum"
                            ? latex_factor(left[i])
                            : "(" + latex_number(left[i]) + " - " + latex_factor(line->value) + ")^2");
    return latex_sum(terms);
}

std::string latex_expression(const Columns& columns, std::string_view expression, bool written_out) {
    const std::vector<std::string> tokens = tokens_of(expression);
    const bool alone = tokens.back() == ")" && std::ranges::count(tokens, "(") == 1;
    std::string text;
    std::vector<bool> roots;  // for each open bracket, whether a root's
    bool root = false;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const std::string& token = tokens[i];
        const auto function = std::ranges::find(functions, token, &Function::name);
        const auto line = std::ranges::find(columns.why.lines, token, &Explained::Line::name);
        if (token == "dot" || token == "sum" || token == "spread") {
            const auto end =
                std::ranges::find(tokens.begin() + static_cast<std::ptrdiff_t>(i), tokens.end(), ")");
            const auto call =
                std::span(tokens).subspan(i, static_cast<std::size_t>(end - tokens.begin()) - i + 1);
            const std::string sum = latex_of_vectors(columns, call, written_out);
            text += alone && i == 0 ? sum : "(" + sum + ")";
            i += call.size() - 1;
        } else if (function != functions.end()) {
            text += function->latex;
            root = token == "sqrt";
        } else if (token == "(") {
            text += root ? "{" : "(";
            roots.push_back(std::exchange(root, false));
        } else if (token == ")") {
            text += roots.back() ? "}" : ")";
            roots.pop_back();
        } else if (token == "*") {
            text += " \\cdot ";
        } else if (token == "/" || token == "+" || (token == "-" && i > 0 && tokens[i - 1] != "(")) {
            text += " " + token + " ";
        } else if (token == "inf" || token == "nan") {
            text += token == "inf" ? "\\infty" : "\\mathrm{NaN}";
        } else if (begins_number(token[0])) {
            text += latex_factor(read_number(token).value_or(0));
        } else if (line != columns.why.lines.end()) {
            text += written_out ? latex_factor(line->value) : latex_name(token);
        } else {
            text += token == "," ? ", " : token;
        }
    }
    return text;
}

std::string latex_text(const Explained& why, const Columns& columns) {
    std::string text = "% " + heading(why) + "\n\\begin{align*}\n";
    for (const auto& line : why.lines) {
        const std::string names = latex_expression(columns, line.expression, false),
                          digits = latex_expression(columns, line.expression, true),
                          value = latex_number(line.value);
        text += latex_name(line.name) + " &= " + names;
        if (digits != names) text += " \\\\\n&= " + digits;
        if (value != digits) text += " \\\\\n&= " + value;
        text += &line == &why.lines.back() ? "\n" : " \\\\\n";
    }
    return text + "\\end{align*}\n";
}

}  // namespace

std::string copied(const Explained& explained, Dialect dialect) {
    const Explained why = with_lines(explained);
    const Columns columns(why);
    switch (dialect) {
        case Dialect::latex: return latex_text(why, columns);
        case Dialect::numpy: return numpy_text(why, columns);
        case Dialect::cpp: break;
    }
    return cpp_text(why, columns);
}

}  // namespace attn::app
