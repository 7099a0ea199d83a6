// Reads and writes a mask as text, for a link or a text box:
//
//   expression  = conjunction { "|" conjunction }
//   conjunction = unary { "&" unary }
//   unary       = "!" unary | "(" expression ")" | name [ "(" argument { "," argument } ")" ]
//   argument    = integer | "[" [ run { "," run } ] "]" | bits
//   run         = integer [ "*" count ], the integer so many times
//   bits        = hexadecimal digits, four cells each, first cell in the highest bit
//
// Cells are bands: cells(1,[0,2,3,5,7,8],…) are those of the queries from 0 and before 2 with the keys from 3
// and before 5, and 7; the number before them multiplies all others.
//
// The documents of keys may be left out where they are those of queries: same_document([0*5,1*3]).
//
// The text may come from anyone: its length, depth, number of terms and lengths of lists are bounded, and
// nothing else is allocated that the text itself does not hold.

#include <algorithm>
#include <charconv>
#include <numeric>

#include "attention/mask_node.hpp"

namespace attn {

namespace {

constexpr std::size_t longest_text = std::size_t{1} << 22;  // a painted 4096×4096 has 2^22 digits
constexpr int deepest_nesting = 32;
constexpr int most_terms = 256;
constexpr std::size_t longest_list = std::size_t{1} << 20;

// --- writing --------------------------------------------------------------------------------------------

std::string digits(const std::vector<std::uint8_t>& bits) {
    std::string text((bits.size() + 3) / 4, '0');
    for (std::size_t i = 0; i < text.size(); ++i) {
        std::size_t value = 0;
        for (std::size_t b = 0; b < 4; ++b)
            value = value * 2 + (4 * i + b < bits.size() ? bits[4 * i + b] : 0);
        text[i] = "0123456789abcdef"[value];
    }
    return text;
}

template <class List>
std::string list(const List& values) {
    constexpr auto long_run = 4;
    std::string text = "[";
    const auto add = [&](const std::string& run) { text += (text.size() > 1 ? "," : "") + run; };
    for (auto at = values.begin(); at != values.end();) {
        const auto value = *at;
        const auto end = std::find_if(at, values.end(), [&](auto other) { return other != value; });
        if (end - at >= long_run) {
            add(std::to_string(value) + "*" + std::to_string(end - at));
            at = end;
        }
        for (; at != end; ++at) add(std::to_string(value));
    }
    return text + "]";
}

std::string call(const char* name, std::initializer_list<std::string> arguments) {
    std::string text;
    for (const std::string& argument : arguments) text += (text.empty() ? "" : ",") + argument;
    return name + ("(" + text + ")");
}

std::string number(Index n) { return std::to_string(n); }

std::string write(const Causal& m) { return call("causal", {number(m.offset)}); }
std::string write(const Window& m) { return call("window", {number(m.before), number(m.after)}); }
std::string write(const Padding& m) { return call("padding", {number(m.visible_keys)}); }
std::string write(const SameDocument& m) {
    if (m.query == m.key) return call("same_document", {list(m.query)});
    return call("same_document", {list(m.query), list(m.key)});
}
std::string write(const Prefix& m) { return call("prefix", {number(m.length)}); }
std::string write(const Strided& m) { return call("strided", {number(m.stride)}); }
std::string write(const BlockSparse& m) {
    return call("block_sparse",
                {number(m.block), number(m.query_blocks), number(m.key_blocks), digits(m.allowed)});
}
std::string write(const GlobalLocal& m) { return call("global_local", {list(m.tokens), number(m.radius)}); }
std::string write(const PaintedBits& m) {
    return call("painted", {number(m.heads), number(m.rows), number(m.cols), digits(m.allowed)});
}

// All numbers in units of their greatest common divisor, so that strokes of a broad brush take few digits.
std::string write(const Cells& m) {
    Index unit = 0;
    for (const CellBand& band : m.region.bands()) {
        unit = std::gcd(unit, std::gcd(band.queries.begin, band.queries.end));
        for (const Range& keys : band.keys) unit = std::gcd(unit, std::gcd(keys.begin, keys.end));
    }
    unit = std::max<Index>(unit, 1);
    std::string text = "cells(" + number(unit);
    for (const CellBand& band : m.region.bands()) {
        std::vector<Index> numbers{band.queries.begin / unit, band.queries.end / unit};
        for (const Range& keys : band.keys)
            numbers.insert(numbers.end(), {keys.begin / unit, keys.end / unit});
        text += "," + list(numbers);
    }
    return text + ")";
}

template <class T>
bool is(const Mask& mask) {
    const Mask::Node* node = Mask::Node::of(mask);
    return node && std::holds_alternative<T>(node->value);
}

std::string write(const Conjunction& m) {
    std::string text;
    for (const Mask& o : m.operands)
        text += (text.empty() ? "" : " & ") + (is<Disjunction>(o) ? "(" + o.text() + ")" : o.text());
    return text;
}
std::string write(const Disjunction& m) {
    std::string text;
    for (const Mask& o : m.operands) text += (text.empty() ? "" : " | ") + o.text();
    return text;
}
std::string write(const Negation& m) {
    const bool compound = is<Conjunction>(m.operand) || is<Disjunction>(m.operand);
    return compound ? "!(" + m.operand.text() + ")" : "!" + m.operand.text();
}

// --- reading --------------------------------------------------------------------------------------------

class Parser {
  public:
    explicit Parser(std::string_view text) : text_(text) {}

    Result<Mask> parse() {
        Mask mask = expression(0);
        skip_space();
        if (at_ < text_.size()) fail("stands something unexpected; join terms with & or |");
        if (failed_) return Error{std::move(message_)};
        return mask;
    }

  private:
    // Only the first failure is kept; after it every reader returns at once.
    void fail(const std::string& what) {
        if (failed_) return;
        failed_ = true;
        message_ = "mask: at character " + std::to_string(at_ + 1) + " " + what;
    }

    void skip_space() {
        while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    }
    bool take(char c) {
        skip_space();
        if (failed_ || at_ >= text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }
    void expect(char c) {
        if (!take(c)) fail(std::string("a '") + c + "' is missing");
    }

    Mask expression(int depth) {
        Mask mask = conjunction(depth);
        while (take('|')) mask = mask | conjunction(depth);
        return mask;
    }
    Mask conjunction(int depth) {
        Mask mask = unary(depth);
        while (take('&')) mask = mask & unary(depth);
        return mask;
    }
    Mask unary(int depth) {
        if (depth > deepest_nesting) fail("the expression is nested too deeply; use fewer brackets");
        if (++terms_ > most_terms) fail("the expression is too long; use at most 256 terms");
        if (failed_) return {};
        if (take('!')) return !unary(depth + 1);
        if (take('(')) {
            Mask mask = expression(depth + 1);
            expect(')');
            return mask;
        }
        return term();
    }

    Mask term() {
        skip_space();
        const std::size_t begin = at_;
        while (at_ < text_.size() && ((text_[at_] >= 'a' && text_[at_] <= 'z') || text_[at_] == '_')) ++at_;
        const std::string_view name = text_.substr(begin, at_ - begin);
        if (name == "everything") return {};
        const auto known = {"causal",  "window",       "padding",      "same_document", "prefix",
                            "strided", "block_sparse", "global_local", "painted",       "cells"};
        if (std::ranges::find(known, name) == known.end()) {
            at_ = begin;
            fail("a term is missing; write for example causal(0), window(3,0), padding(5) or everything");
            return {};
        }
        expect('(');
        Mask mask = arguments(name);
        expect(')');
        return failed_ ? Mask() : mask;
    }

    Mask arguments(std::string_view name) {
        if (name == "causal") return Mask::causal(integer(-position_limit));
        if (name == "padding") return Mask::padding(integer(0));
        if (name == "prefix") return Mask::prefix(integer(0));
        if (name == "strided") return Mask::strided(integer(1));
        if (name == "window") {
            const Index before = integer(-position_limit);
            return Mask::window(before, next_integer(-position_limit));
        }
        if (name == "same_document") {
            auto query = integers<std::int32_t>();
            auto key = take(',') ? integers<std::int32_t>() : query;
            return Mask::same_document(std::move(query), std::move(key));
        }
        if (name == "global_local") {
            auto tokens = integers<Index>();
            return Mask::global_local(std::move(tokens), next_integer(0));
        }
        if (name == "block_sparse") {
            const Index block = integer(1), rows = next_integer(0), columns = next_integer(0);
            auto allowed = next_bits({rows, columns});
            return failed_ ? Mask() : Mask::block_sparse(block, rows, columns, std::move(allowed));
        }
        if (name == "cells") return cells();
        const Index heads = integer(0), rows = next_integer(0), columns = next_integer(0);
        auto allowed = next_bits({heads, rows, columns});
        return failed_ ? Mask() : Mask::painted({heads, rows, columns, std::move(allowed)});
    }

    Mask cells() {
        const Index unit = integer(1);
        CellRegion region;
        while (!failed_ && take(',')) {
            const auto numbers = integers<Index>();
            if (failed_) return {};
            if (numbers.size() < 4 || numbers.size() % 2 != 0)
                fail("a band of cells is wrong; write two queries, then two keys for each run of cells");
            CellBand band;
            for (std::size_t i = 0; i + 1 < numbers.size(); i += 2) {
                if (numbers[i] < 0 || numbers[i + 1] > position_limit / unit ||
                    numbers[i] >= numbers[i + 1]) {
                    fail(
                        "a range of cells is wrong; write where it begins and the larger number where it "
                        "ends");
                    return {};
                }
                const Range range{numbers[i] * unit, numbers[i + 1] * unit};
                i == 0 ? void(band.queries = range) : band.keys.push_back(range);
            }
            if (!failed_ && !region.append(std::move(band)))
                fail("bands of cells and their keys must be in ascending order and must not overlap");
        }
        return failed_ ? Mask() : Mask::cells(std::move(region));
    }

    Index integer(Index least) {
        skip_space();
        if (failed_) return least;
        Index value = 0;
        const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
        if (error == std::errc::invalid_argument) {
            fail("a whole number is missing");
        } else if (error != std::errc() || value < least || value > position_limit) {
            fail("a number is out of range; it must lie between " + std::to_string(least) + " and " +
                 std::to_string(position_limit));
        } else {
            at_ = static_cast<std::size_t>(end - text_.data());
            return value;
        }
        return least;
    }
    Index next_integer(Index least) {
        expect(',');
        return integer(least);
    }

    template <class T>
    std::vector<T> integers() {
        std::vector<T> values;
        expect('[');
        if (take(']')) return values;
        do {
            const auto value = static_cast<T>(integer(-position_limit));
            const auto count = static_cast<std::size_t>(take('*') ? integer(1) : 1);
            if (count > longest_list - values.size())
                fail("a list is too long; it must have at most " + std::to_string(longest_list) + " numbers");
            if (failed_) return {};
            values.insert(values.end(), count, value);
        } while (take(','));
        expect(']');
        return values;
    }

    std::vector<std::uint8_t> next_bits(const Shape& shape) {
        expect(',');
        skip_space();
        if (failed_) return {};
        const auto size = element_count(shape);
        const std::size_t begin = at_;
        while (at_ < text_.size() && hex(text_[at_]) >= 0) ++at_;
        const std::string_view written = text_.substr(begin, at_ - begin);
        if (!size || written.size() != (static_cast<std::size_t>(*size) + 3) / 4) {
            fail("the digits do not fit " + to_string(shape) +
                 "; write one hexadecimal digit for four cells");
            return {};
        }
        std::vector<std::uint8_t> allowed(static_cast<std::size_t>(*size));
        for (std::size_t i = 0; i < allowed.size(); ++i) allowed[i] = hex(written[i / 4]) >> (3 - i % 4) & 1;
        return allowed;
    }
    static int hex(char c) {
        if (c >= '0' && c <= '9') return c - '0';
        if (c >= 'a' && c <= 'f') return c - 'a' + 10;
        return -1;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    int terms_ = 0;
    bool failed_ = false;
    std::string message_;
};

}  // namespace

std::string Mask::text() const {
    if (!node_) return "everything";
    return std::visit([](const auto& m) { return write(m); }, node_->value);
}

Result<Mask> Mask::parse(std::string_view text) {
    if (text.size() > longest_text)
        return Error{"mask: the text is longer than " + std::to_string(longest_text) +
                     " characters; describe the mask by a rule such as causal(0)"};
    return Parser(text).parse();
}

}  // namespace attn
