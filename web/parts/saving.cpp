#include "parts/saving.hpp"

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>

#include "app/format.hpp"
#include "io/csv_writer.hpp"
#include "io/npy.hpp"
#include "io/zip_writer.hpp"

namespace attn::parts {

namespace {

constexpr Index cells_a_step = Index{1} << 16;
constexpr std::int64_t csv_cells = std::int64_t{1} << 22, npy_cells = std::int64_t{1} << 26;
constexpr std::int64_t archive_bytes = std::int64_t{768} << 20;

std::int64_t cells_in(Index rows, Index cols) { return static_cast<std::int64_t>(rows) * cols; }

Status fits(const Saving::Window& window, std::int64_t most, const char* instead) {
    const std::int64_t cells = cells_in(window.queries.size(), window.keys.size());
    if (cells <= most) return ok();
    return Error{"The window has " + std::to_string(window.queries.size()) + " × " +
                 std::to_string(window.keys.size()) + " cells, and at most " + std::to_string(most) +
                 " are saved like this; " + instead + "."};
}

bool is_there(std::size_t bytes) {
    const std::unique_ptr<std::byte[]> probe(new (std::nothrow) std::byte[bytes]);
    return probe != nullptr;
}

// In numbers from a file, −∞ does not mean masked.
void count_masked_as_zero(const Map& map, Index query, Range keys, std::span<float> cells) {
    for (Index j = 0; j < keys.size(); ++j) {
        const Index key = keys.begin + j;
        float& cell = cells[static_cast<std::size_t>(j)];
        if (cell == masked_cell && map.coverage({query, query + 1}, {key, key + 1}) != Coverage::all)
            cell = 0;
    }
}

class CsvRows final : public Saving::Rows {
  public:
    CsvRows(std::span<const std::string> query_names, std::span<const std::string> key_names)
        : queries_(query_names.begin(), query_names.end()), csv_(key_names) {}
    void row(Index query, std::span<const float> cells) override {
        csv_.row(queries_[static_cast<std::size_t>(query)], cells);
    }
    std::vector<std::byte> finish() override {
        const auto bytes = std::as_bytes(std::span(csv_.text()));
        return {bytes.begin(), bytes.end()};
    }

  private:
    std::vector<std::string> queries_;
    CsvWriter csv_;
};

class NpyRows final : public Saving::Rows {
  public:
    explicit NpyRows(const Shape& shape) : file_(npy_header_f32(shape)) {
        file_.reserve(file_.size() + static_cast<std::size_t>(shape[0] * shape[1]) * sizeof(float));
    }
    void row(Index, std::span<const float> cells) override {
        const auto bytes = std::as_bytes(cells);
        file_.insert(file_.end(), bytes.begin(), bytes.end());
    }
    std::vector<std::byte> finish() override { return std::move(file_); }

  private:
    std::vector<std::byte> file_;
};

class HeadsRows final : public Saving::Rows {
  public:
    HeadsRows(std::size_t bytes, const Shape& shape, std::span<const std::int32_t> ids, std::string about)
        : zip_(bytes), ids_(ids.begin(), ids.end()), about_(std::move(about)) {
        zip_.begin("attention.npy");
        zip_.append(npy_header_f32(shape));
    }
    void row(Index, std::span<const float> cells) override { zip_.append(std::as_bytes(cells)); }
    std::vector<std::byte> finish() override {
        if (!ids_.empty()) {
            zip_.begin("ids.npy");
            zip_.append(write_npy({std::ssize(ids_)}, std::span<const std::int32_t>(ids_)));
        }
        zip_.begin("about.json");
        zip_.append(std::as_bytes(std::span(about_)));
        return zip_.finish();
    }

  private:
    ZipWriter zip_;
    std::vector<std::int32_t> ids_;
    std::string about_;
};

// Says whether queries and keys are the same tokens.
bool is_of_one_text(const AllHeads& all, const Map& map) {
    return map.queries() == map.keys() && std::ranges::equal(all.queries.tokens, all.keys.tokens);
}

// Returns "token", "word", "sentence" or "span".
std::string unit_name(const AllHeads& all) {
    const bool merges = all.queries.units || all.keys.units;
    const std::string_view key = app::unit_key(merges ? all.choice.unit : Unit::tokens);
    return std::string(key.substr(0, key.size() - 1));
}

// Writes "8 tokens" or "7 queries × 9 keys".
std::string extent_of(const AllHeads& all, const Map& map) {
    if (is_of_one_text(all, map)) return app::many(map.queries(), unit_name(all));
    const std::string queries = map.queries() == 1 ? "1 query" : std::to_string(map.queries()) + " queries";
    return queries + " × " + app::many(map.keys(), "key");
}

// Describes an axis, under keys that begin with `whose`.
void describe(nlohmann::json& about, const AllHeads::Axis& axis, const std::string& whose,
              const std::string& unit) {
    if (!axis.tokens.empty())
        about[whose + "tokens"] = std::vector<std::string>(axis.tokens.begin(), axis.tokens.end());
    if (!axis.units) return;
    std::vector<Index> sizes;
    for (const Range& tokens : axis.units->tokens) sizes.push_back(tokens.size());
    about[whose + unit + "s"] = axis.units->names;
    about["tokens of a " + whose + unit] = sizes;
}

nlohmann::json about_all(const AllHeads& all, const std::string& stage) {
    nlohmann::json about(all.source);
    const bool has_sign = is_signed(all.choice.stage);
    const std::string unit = unit_name(all);
    about["stage"] = stage;
    about["first key"] = app::sink_key(has_sign ? Sink::shown : all.choice.sink);
    about["masked"] = has_sign ? "-inf" : "0";
    about["tensors"]["attention"] = {"layer", "head", all.queries.units ? "query " + unit : "query",
                                     all.keys.units ? "key " + unit : "key"};
    if (!all.ids.empty()) about["tensors"]["ids"] = {"token"};
    if (all.queries.units || all.keys.units)
        about["merged"] = "mean over a query " + unit + "'s tokens, sum over a key " + unit +
                          "'s (arXiv 1906.04341, section 4.1)";
    if (std::ranges::equal(all.queries.tokens, all.keys.tokens)) {
        describe(about, all.queries, "", unit);
    } else {
        describe(about, all.queries, "query ", unit);
        describe(about, all.keys, "key ", unit);
    }
    return about;
}

}  // namespace

Saving::Made Saving::csv(Window window, std::span<const std::string> query_names,
                         std::span<const std::string> key_names, std::string name) {
    if (const Status small = fits(window, csv_cells, "zoom in, or save it as .npy"); !small)
        return small.error();
    const auto shown = key_names.subspan(static_cast<std::size_t>(window.keys.begin),
                                         static_cast<std::size_t>(window.keys.size()));
    return std::unique_ptr<app::Download>(new Saving(std::move(name) + ".csv", 1, std::move(window),
                                                     std::make_unique<CsvRows>(query_names, shown)));
}

Saving::Made Saving::npy(Window window, std::string name) {
    if (const Status small = fits(window, npy_cells, "zoom in"); !small) return small.error();
    const Shape shape{window.queries.size(), window.keys.size()};
    if (!is_there(static_cast<std::size_t>(shape[0] * shape[1]) * sizeof(float)))
        return Error{"There is not enough memory for a file of this window; zoom in."};
    return std::unique_ptr<app::Download>(
        new Saving(std::move(name) + ".npy", 1, std::move(window), std::make_unique<NpyRows>(shape)));
}

Saving::Made Saving::all_heads(const AllHeads& all) {
    MapPointer first = all.map(0, 0);
    const Index queries = first->queries(), keys = first->keys();
    const Shape shape{all.layers, all.heads, queries, keys};
    const std::int64_t bytes =
        cells_in(queries, keys) * all.layers * all.heads * static_cast<std::int64_t>(sizeof(float));
    if (bytes > archive_bytes || !is_there(static_cast<std::size_t>(bytes)))
        return Error{std::to_string(all.layers) + " × " + std::to_string(all.heads) + " heads over " +
                     extent_of(all, *first) + " take " + std::to_string(bytes / 1'000'000) +
                     " MB, more than a browser tab has to spare; " + all.instead + "."};
    const std::string stage(info(all.choice.stage).key);
    std::string about =
        about_all(all, stage).dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    const std::size_t expected = static_cast<std::size_t>(bytes) + about.size() + 8 * all.ids.size() + 4096;
    std::unique_ptr<Saving> saving(new Saving(
        "attention-" + stage + ".npz", all.layers * all.heads, {std::move(first), {0, queries}, {0, keys}},
        std::make_unique<HeadsRows>(expected, shape, all.ids, std::move(about))));
    saving->make_map_ = all.map;
    saving->heads_ = all.heads;
    return std::unique_ptr<app::Download>(std::move(saving));
}

bool Saving::step() {
    if (map_ == maps_) return false;
    const auto& [map, queries, keys] = window_;
    const Index rows =
        std::clamp(cells_a_step / std::max(keys.size(), Index{1}), Index{1}, queries.size() - row_);
    const Index first = queries.begin + row_;
    std::vector<float> cells = cells_of(*map, {{first, first + rows}, keys});
    const auto width = static_cast<std::size_t>(keys.size());
    for (Index r = 0; r < rows; ++r) {
        const auto row = std::span(cells).subspan(static_cast<std::size_t>(r) * width, width);
        if (!map->is_signed()) count_masked_as_zero(*map, first + r, keys, row);
        rows_->row(first + r, row);
    }
    row_ += rows;
    if (row_ < queries.size()) return true;
    row_ = 0;
    if (++map_ == maps_) return false;
    window_.map = make_map_(map_ / heads_, map_ % heads_);
    return true;
}

float Saving::progress() const {
    const float rows =
        static_cast<float>(row_) / static_cast<float>(std::max(window_.queries.size(), Index{1}));
    return (static_cast<float>(map_) + rows) / static_cast<float>(maps_);
}

std::vector<std::byte> Saving::finish() { return rows_->finish(); }

}  // namespace attn::parts
