#include "io/tensor_names.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "io/ascii.hpp"

namespace attn {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
// Bytes of letters beyond ASCII count as letters, too.
bool is_letter(char c) { return is_upper(c) || is_lower(c) || static_cast<unsigned char>(c) >= 0x80; }

struct Word {
    std::string text;           // lower case, or digits
    bool before_digit = false;  // nothing stands in between
};

// The words of "layer0.qProj" are layer, 0, q, proj.
std::vector<Word> words_of(std::string_view name) {
    std::vector<Word> words;
    char last = '\0';
    for (char c : name) {
        const bool digit = is_digit(c);
        if (digit || is_letter(c)) {
            const bool joins =
                (digit && is_digit(last)) || (!digit && is_letter(last) && !(is_upper(c) && is_lower(last)));
            if (!joins) {
                if (digit && is_letter(last)) words.back().before_digit = true;
                words.emplace_back();
            }
            words.back().text += ascii_lower(c);
        }
        last = c;
    }
    return words;
}

struct Known {
    std::string_view word;
    Role role;
};
constexpr std::array known_words{
    Known{"q", Role::query},           Known{"query", Role::query},
    Known{"queries", Role::query},     Known{"k", Role::key},
    Known{"key", Role::key},           Known{"keys", Role::key},
    Known{"v", Role::value},           Known{"value", Role::value},
    Known{"values", Role::value},      Known{"mask", Role::mask},
    Known{"masks", Role::mask},        Known{"attn", Role::weights},
    Known{"attns", Role::weights},     Known{"att", Role::weights},
    Known{"attention", Role::weights}, Known{"attentions", Role::weights},
    Known{"weights", Role::weights},   Known{"weight", Role::weights},
    Known{"score", Role::weights},     Known{"scores", Role::weights},
    Known{"probs", Role::weights},     Known{"probabilities", Role::weights},
};

std::optional<Role> role_of(const Word& word) {
    const auto* known = std::ranges::find(known_words, std::string_view(word.text), &Known::word);
    return known == known_words.end() ? std::nullopt : std::optional(known->role);
}

bool is_qkv(std::optional<Role> role) { return role && *role <= Role::value; }

bool is_parameter(const std::vector<Word>& words) {
    if (words.size() < 2) return false;
    const std::string& last = words.back().text;
    if (last != "weight" && last != "bias") return false;
    return std::ranges::any_of(std::span(words).first(words.size() - 1), [](const Word& w) {
        return w.text == "proj" || w.text == "c" || w.text == "dense" || w.text == "norm" ||
               is_qkv(role_of(w));
    });
}

}  // namespace

NameParts read_name(std::string_view name) {
    const std::vector<Word> words = words_of(name);
    NameParts parts;
    parts.parameter = is_parameter(words);

    std::vector<Role> strong, weak;  // among q, k and v
    bool mask = false, weights = false;
    for (const Word& word : words) {
        const auto role = role_of(word);
        mask |= role == Role::mask;
        weights |= role == Role::weights;
        if (!is_qkv(role)) continue;
        std::vector<Role>& list = word.text.size() == 1 && word.before_digit ? weak : strong;
        if (std::ranges::find(list, *role) == list.end()) list.push_back(*role);
    }
    if (mask)
        parts.role = Role::mask;
    else if (strong.size() == 1)
        parts.role = strong.front();
    else if (weights)
        parts.role = Role::weights;
    else if (strong.empty() && weak.size() == 1)
        parts.role = weak.front();

    for (const Word& word : words) {
        const auto role = role_of(word);
        // "attn.q" and "attn_mask" belong together whether or not both say "attn".
        const bool spoken_for =
            role && (role == parts.role || role == Role::weights || parts.role == Role::mask);
        if (!spoken_for) parts.group += (parts.group.empty() ? "" : " ") + word.text;
    }
    return parts;
}

NumberedName last_number(std::string_view name) {
    NumberedName out{std::string(name), -1, {}};
    const auto last = std::ranges::find_if(name.rbegin(), name.rend(), is_digit);
    if (last == name.rend()) return out;
    const auto first = std::find_if_not(last, name.rend(), is_digit);
    const auto begin = static_cast<std::size_t>(name.rend() - first),
               end = static_cast<std::size_t>(name.rend() - last);
    if (end - begin > 9) return out;  // too long to be a count
    out.number = 0;
    for (char c : name.substr(begin, end - begin)) out.number = out.number * 10 + (c - '0');
    out.pattern = std::string(name.substr(0, begin)) + '#' + std::string(name.substr(end));
    const std::vector<Word> before = words_of(name.substr(0, begin));
    if (!before.empty()) out.word = before.back().text;
    return out;
}

std::string_view to_string(Role role) {
    switch (role) {
        case Role::query: return "Q";
        case Role::key: return "K";
        case Role::value: return "V";
        case Role::mask: return "mask";
        case Role::weights: return "attention weights";
    }
    return "";
}

}  // namespace attn
