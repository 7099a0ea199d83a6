#include "app/url.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "app/command.hpp"
#include "app/link_choices.hpp"
#include "app/link_settings.hpp"
#include "app/link_text.hpp"
#include "app/presets.hpp"
#include "app/worked_run.hpp"
#include "io/quote.hpp"

namespace attn::app {

namespace {

constexpr std::size_t fragment_limit = std::size_t{1} << 20;

constexpr std::array<std::string_view, 3> source_names{"projections", "qkv", "scores"};

std::string write_source(const WorkedState& w) {
    const Origin& o = w.origin;
    if (o.kind != Origin::Kind::generated)
        return std::string(source_names[static_cast<std::size_t>(w.source)]);
    return "randn," + std::to_string(o.seed) + "," +
           write_integers(std::array{o.queries, o.keys, o.d_k, o.d_v});
}

bool read_source(WorkedState& worked, std::string_view text) {
    if (const auto source = index_of(source_names, text)) {
        worked.clear_matrices();
        worked.source = static_cast<Source>(*source);
        worked.origin = {.kind = Origin::Kind::entered};
        return true;
    }
    const auto parts = split(text, ',');
    if (parts.size() != 6 || parts[0] != "randn") return false;
    const auto seed = read_integer<std::uint32_t>(parts[1]);
    std::array<Index, 4> sizes{};
    for (std::size_t i = 0; i < 4; ++i) sizes[i] = read_integer<Index>(parts[i + 2]).value_or(0);
    if (!seed || std::ranges::any_of(sizes, [](Index size) { return size < 1 || size > worked_size_limit; }))
        return false;
    generate_qkv(worked, {Origin::Kind::generated, *seed, sizes[0], sizes[1], sizes[2], sizes[3]});
    return true;
}

// The state that a link of the same example and source gives without any other key.
State usual_of(const State& state) {
    State usual = default_state();
    usual.worked = origin_state(state.worked);
    resize_labels(usual.worked.query_labels, state.worked.queries());
    resize_labels(usual.worked.key_labels, state.worked.keys());
    if (usual.worked.source == Source::projections) usual.worked.key_labels = usual.worked.query_labels;
    return usual;
}

constexpr std::string_view first_keys[] = {"v", "lens", "ex", "source"};

bool is_known(std::string_view key) {
    const auto inputs = std::span(matrix_link_names).first(static_cast<std::size_t>(MatrixId::raw) + 1);
    return std::ranges::find(first_keys, key) != std::end(first_keys) ||
           std::ranges::find(inputs, key) != inputs.end() ||
           std::ranges::find(link_settings(), key, &LinkSetting::key) != link_settings().end();
}

class Reader {
  public:
    explicit Reader(std::string_view fragment) {
        while (!fragment.empty()) {
            const auto end = std::min(fragment.find('&'), fragment.size());
            if (end > 0) add(fragment.substr(0, end));
            fragment.remove_prefix(std::min(end + 1, fragment.size()));
        }
    }

    ParsedFragment read() {
        if (const auto version = given("v"); version && *version != "1")
            return {default_state(), "The link is of version " + quote(*version) +
                                         " and this page reads version 1, so the first example is shown."};
        value("lens", "worked, sentence, training or tensors", [&](const std::string& text) {
            const auto key = std::ranges::find(lens_keys, text);
            return key != lens_keys.end() &&
                   take(state_, OpenLens{static_cast<LensId>(key - lens_keys.begin())});
        });
        value("ex", "one of the examples", [&](const std::string& text) {
            const auto preset = preset_by_key(text);
            return preset && take(state_, OpenPreset{*preset});
        });
        read_inputs();
        const State usual = usual_of(state_);
        state_.worked.query_labels = usual.worked.query_labels;
        state_.worked.key_labels = usual.worked.key_labels;
        for (const LinkSetting& setting : link_settings())
            value(setting.key, setting.expected,
                  [&](const std::string& text) { return setting.read(state_, text); });
        if (dropped_ > 1)
            note_ += ", and " + std::to_string(dropped_ - 1) + " more of its values were left out";
        if (dropped_ > 0) note_ += ".";
        return {std::move(state_), std::move(note_)};
    }

  private:
    struct Given {
        std::string key;
        std::string value;
    };

    void add(std::string_view part) {
        const auto equals = part.find('=');
        const std::string_view raw_key = part.substr(0, equals);
        const std::string_view raw_value = equals == std::string_view::npos ? "" : part.substr(equals + 1);
        const auto key = percent_decode(raw_key), value = percent_decode(raw_value);
        if (!key || !is_known(*key))
            drop("The link's key " + quote(key ? *key : raw_key) + " is not known here");
        else if (given(*key))
            drop("The link gives " + quote(*key) + " twice; the first is used");
        else if (!value)
            drop("The link's value " + quote(raw_value) + " for " + quote(*key) +
                 " is not percent-encoded text; the default is used");
        else
            given_.push_back({*key, *value});
    }

    const std::string* given(std::string_view key) const {
        const auto found = std::ranges::find(given_, key, &Given::key);
        return found == given_.end() ? nullptr : &found->value;
    }

    // The first thing dropped is named, the rest counted.
    void drop(std::string what) {
        if (dropped_++ == 0) note_ = std::move(what);
    }

    template <class Read>
    void value(std::string_view key, std::string_view expected, Read read) {
        const std::string* text = given(key);
        if (text && !read(*text))
            drop("The link's value " + quote(*text) + " for " + quote(key) + " is not " +
                 std::string(expected) + "; the default is used");
    }

    // All of them or, where they do not fit together, none: half a set of matrices is another example.
    void read_inputs() {
        WorkedState& worked = state_.worked;
        value("source", "projections, qkv, scores or randn,seed,queries,keys,d_k,d_v",
              [&](const std::string& text) { return read_source(worked, text); });
        const auto inputs = inputs_of(worked.source);
        for (int i = 0; i <= static_cast<int>(MatrixId::raw); ++i) {
            const auto id = static_cast<MatrixId>(i);
            if (std::ranges::find(inputs, id) == inputs.end())
                value(link_name(id), "an input of this example", [](const std::string&) { return false; });
            else
                value(link_name(id), "rows x columns: numbers, up to 64x64 of them",
                      [&](const std::string& text) {
                          auto matrix = read_matrix(text);
                          if (!matrix) return false;
                          *worked.stored(id) = *std::move(matrix);
                          return true;
                      });
        }
        if (const auto fits = check_inputs(worked); !fits) {
            std::string why = fits.error().message;
            why.pop_back();
            drop("The link's matrices are left out: " + why);
            worked = preset_state(worked.preset);
        }
    }

    std::vector<Given> given_;
    State state_ = default_state();
    std::string note_;
    int dropped_ = 0;
};

}  // namespace

std::string to_fragment(const State& state) {
    std::string fragment;
    const auto add = [&](std::string_view key, std::string_view value) {
        fragment.append("&").append(key).append("=").append(percent_encode(value));
    };
    if (state.lens != default_state().lens) add("lens", lens_keys[static_cast<std::size_t>(state.lens)]);
    if (state.worked.preset != default_state().worked.preset) add("ex", info(state.worked.preset).key);
    if (state.worked.origin != preset_state(state.worked.preset).origin)
        add("source", write_source(state.worked));
    const State usual = usual_of(state);
    for (const MatrixId id : inputs_of(state.worked.source)) {
        const Matrix& matrix = *state.worked.stored(id);
        if (matrix != *usual.worked.stored(id)) add(link_name(id), write_matrix(matrix));
    }
    for (const LinkSetting& setting : link_settings())
        if (const auto value = setting.write(state, usual)) add(setting.key, *value);
    return fragment.empty() ? fragment : "v=1" + fragment;
}

ParsedFragment parse_fragment(std::string_view fragment) {
    if (fragment.starts_with('#')) fragment.remove_prefix(1);
    if (fragment.size() > fragment_limit)
        return {default_state(),
                "The link is longer than a million characters, so the first example is shown."};
    return Reader(fragment).read();
}

}  // namespace attn::app
