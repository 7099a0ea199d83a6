#include "cli/check.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "analysis/check/case_reading.hpp"
#include "analysis/check/verdict.hpp"
#include "cli/model_folder.hpp"

namespace attn {

namespace {

using Json = nlohmann::ordered_json;

Result<Diagnosed> check(const std::string& path) {
    std::vector<std::string> paths{path};
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) {
        paths.clear();
        for (const auto& entry : std::filesystem::directory_iterator(path, error))
            if (entry.path().extension() == ".npy" || entry.path().extension() == ".csv")
                paths.push_back(entry.path().string());
        std::ranges::sort(paths);
        if (paths.empty())
            return Error{path + ": this folder has no .npy files; save q.npy, k.npy, v.npy and output.npy"};
    }
    auto bytes = read_files(paths);
    if (!bytes) return bytes.error();
    std::vector<DroppedFile> files;
    for (std::size_t i = 0; i < paths.size(); ++i) files.push_back({paths[i], (*bytes)[i]});
    auto arrays = case_arrays(std::move(files));
    if (!arrays) return arrays.error();
    auto readings = read_case(*arrays);
    if (!readings) return Error{path + ": " + readings.error().message};
    return diagnose(*std::move(readings));
}

// JSON has no NaN and no infinities.
Json number(double x) {
    if (std::isfinite(x)) return x;
    return std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
}

Json keys_of(std::span<const NamedCause> causes) {
    Json list = Json::array();
    for (const NamedCause& each : causes) list.push_back(std::string(each.mistake->key));
    return list;
}

Json to_json(const std::string& path, const Diagnosed& diagnosed) {
    const Verdict& v = diagnosed.verdict;
    Json out{{"case", path},
             {"verdict", v.key()},
             {"causes", keys_of(v.causes)},
             {"confident", v.confident},
             {"alternatives", keys_of(v.alternatives)}};
    out["invisible"] = Json::array();
    for (const Mistake* each : v.invisible) out["invisible"].push_back(std::string(each->key));
    out["precision"] = v.level ? Json(std::string(v.level->key)) : Json();
    out["difference"] = number(v.difference);
    out["right_difference"] = number(v.right_difference);
    out["not_numbers"] = v.not_numbers;
    out["first_wrong"] = Json();
    if (v.first_wrong)
        out["first_wrong"] = {{"array", v.first_wrong->of_weights ? "weights" : "output"},
                              {"index", indices(*diagnosed.given, *v.first_wrong)},
                              {"yours", number(v.first_wrong->theirs)},
                              {"right", number(v.first_wrong->right)}};
    out["notes"] = diagnosed.given->notes;
    out["unread"] = diagnosed.given->unread;
    out["sentence"] = sentence(v);
    out["note"] = open_questions(v);
    out["fix"] = Json();
    if (!v.causes.empty()) {
        const Remedy& remedy = v.causes.front().mistake->remedy;
        out["fix"] = {{"pytorch", remedy.pytorch}, {"jax", remedy.jax}, {"numpy", remedy.numpy}};
    }
    return out;
}

void print(const std::string& path, const Diagnosed& diagnosed) {
    const Verdict& v = diagnosed.verdict;
    std::printf("%s: %s\n", path.c_str(), sentence(v).c_str());
    for (const std::string& note : diagnosed.given->notes) std::printf("  %s\n", note.c_str());
    if (v.first_wrong)
        std::printf("  first wrong cell: %s is %.7g and should be %.7g\n",
                    place(*diagnosed.given, *v.first_wrong).c_str(), v.first_wrong->theirs,
                    v.first_wrong->right);
    for (const NamedCause& cause : v.causes) {
        std::printf("  %s\n", std::string(cause.mistake->key).c_str());
        std::printf("    PyTorch: %s\n    JAX:     %s\n    NumPy:   %s\n", cause.mistake->remedy.pytorch,
                    cause.mistake->remedy.jax, cause.mistake->remedy.numpy);
    }
    if (const std::string open = open_questions(v); !open.empty()) std::printf("  %s\n", open.c_str());
}

}  // namespace

int run_check(std::span<const std::string> cases, bool json) {
    enum Exit { right = 0, wrong = 1, unreadable = 2 };
    int code = right;
    Json all = Json::array();
    for (const std::string& path : cases) {
        const auto diagnosed = check(path);
        if (!diagnosed) {
            code = unreadable;
            if (json) all.push_back({{"case", path}, {"error", diagnosed.error().message}});
            std::fprintf(stderr, "attn: %s\n", diagnosed.error().message.c_str());
            continue;
        }
        if (diagnosed->verdict.wrong()) code = std::max<int>(code, wrong);
        if (json)
            all.push_back(to_json(path, *diagnosed));
        else
            print(path, *diagnosed);
    }
    if (json) std::printf("%s\n", all.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
    return code;
}

}  // namespace attn
