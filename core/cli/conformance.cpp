#include "cli/conformance.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "cli/onnx_operators.hpp"
#include "io/json.hpp"
#include "io/npy.hpp"
#include "io/quote.hpp"

namespace attn {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

Result<std::vector<std::byte>> read_file(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> text{std::istreambuf_iterator<char>(file), {}};
    if (!file.is_open() || file.bad()) return Error{path.filename().string() + " cannot be read"};
    const auto bytes = std::as_bytes(std::span(text));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
}

Result<OnnxTensor> read_tensor(const fs::path& folder, const json& tensors, const std::string& name) {
    const auto entry = tensors.find(name);
    if (entry == tensors.end() || !entry->is_object() || !entry->contains("file") ||
        !(*entry)["file"].is_string())
        return Error{"meta.json names no file for the tensor " + quote(name)};
    const auto bytes = read_file(folder / (*entry)["file"].get<std::string>());
    if (!bytes) return bytes.error();
    const auto array = parse_npy(*bytes);
    if (!array) return Error{name + ": " + array.error().message};
    auto values = to_tensor(*array);
    if (!values) return Error{name + ": " + values.error().message};
    OnnxTensor tensor{array->dtype, *std::move(values), {}};
    if (auto integers = to_int64(*array)) tensor.integers = *std::move(integers);
    return tensor;
}

// Reads a list of names in meta.json; an empty name stands for something omitted.
Result<std::vector<std::string>> names_of(const json& meta, const char* key) {
    const auto list = meta.find(key);
    if (list == meta.end() || !list->is_array()) return Error{std::string("meta.json has no list ") + key};
    std::vector<std::string> names;
    for (const json& name : *list) {
        if (!name.is_string())
            return Error{std::string("meta.json: ") + key + " holds something that is no name"};
        names.push_back(name.get<std::string>());
    }
    return names;
}

double tolerance(DType dtype) {
    if (dtype == DType::f16) return 1e-3;
    if (dtype == DType::bf16) return 1e-2;
    return 1e-5;
}

// Writes the position of element i: "[1, 0, 3]".
std::string place(const Shape& shape, Index i) {
    std::string text;
    for (std::size_t axis = shape.size(); axis-- > 0; i /= shape[axis])
        text = std::to_string(i % shape[axis]) + (text.empty() ? "" : ", ") + text;
    return "[" + text + "]";
}

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", value);
    return text;
}

Status compare(const std::string& name, const OnnxTensor& actual, const OnnxTensor& expected) {
    if (actual.values.shape() != expected.values.shape())
        return Error{name + " is " + to_string(actual.values.shape()) + " instead of " +
                     to_string(expected.values.shape())};
    if (actual.dtype != expected.dtype)
        return Error{name + " is " + std::string(attn::name(actual.dtype)) + " instead of " +
                     std::string(attn::name(expected.dtype))};
    const double allowed = tolerance(expected.dtype);
    double largest = 0;
    Index at = -1;
    for (Index i = 0; i < expected.values.size(); ++i) {
        const double x = static_cast<double>(actual.values.data()[i]);
        const double e = static_cast<double>(expected.values.data()[i]);
        if (x == e || (std::isnan(x) && std::isnan(e))) continue;
        double excess = std::abs(x - e) / (1 + std::abs(e));
        if (!std::isfinite(x) || !std::isfinite(e)) excess = HUGE_VAL;
        if (excess > allowed && excess > largest) largest = excess, at = i;
    }
    if (at < 0) return ok();
    const double x = static_cast<double>(actual.values.data()[at]);
    const double e = static_cast<double>(expected.values.data()[at]);
    return Error{name + place(expected.values.shape(), at) + " is " + number(x) + " instead of " + number(e) +
                 ", off by " + number(std::abs(x - e)) + " where " + number(allowed * (1 + std::abs(e))) +
                 " is allowed"};
}

}  // namespace

std::vector<fs::path> find_cases(const fs::path& folder) {
    std::vector<fs::path> cases;
    std::error_code failure;
    if (fs::exists(folder / "meta.json", failure)) cases.push_back(folder);
    for (fs::recursive_directory_iterator it(folder, failure), end; !failure && it != end;
         it.increment(failure))
        if (it->path().filename() == "meta.json" && it->path().parent_path() != folder)
            cases.push_back(it->path().parent_path());
    std::ranges::sort(cases);
    return cases;
}

Status check_case(const fs::path& folder, const Kernels& kernels) {
    const auto bytes = read_file(folder / "meta.json");
    if (!bytes) return bytes.error();
    const auto parsed = parse_json(*bytes, "meta.json");
    if (!parsed) return parsed.error();
    const json& meta = *parsed;
    for (const char* key : {"op", "opset", "attributes", "tensors"})
        if (!meta.is_object() || !meta.contains(key)) return Error{std::string("meta.json has no ") + key};
    if (!meta["op"].is_string() || !meta["opset"].is_number_integer() || !meta["attributes"].is_object() ||
        !meta["tensors"].is_object())
        return Error{"meta.json: op, opset, attributes or tensors is of the wrong type"};

    OnnxNode node{
        meta["op"].get<std::string>(), meta["opset"].get<std::int64_t>(), meta["attributes"], {}, {}};
    const auto input_names = names_of(meta, "node_inputs"), output_names = names_of(meta, "node_outputs");
    if (!input_names) return input_names.error();
    if (!output_names) return output_names.error();
    for (const std::string& name : *input_names) {
        node.inputs.emplace_back();
        if (name.empty()) continue;
        auto tensor = read_tensor(folder, meta["tensors"], name);
        if (!tensor) return tensor.error();
        node.inputs.back() = *std::move(tensor);
    }
    for (const std::string& name : *output_names) node.outputs.push_back(!name.empty());

    const auto outputs = evaluate(node, kernels);
    if (!outputs) return outputs.error();
    for (std::size_t i = 0; i < output_names->size(); ++i) {
        const std::string& name = (*output_names)[i];
        if (name.empty()) continue;
        if (i >= outputs->size()) return Error{node.op + " has no output " + quote(name)};
        const auto expected = read_tensor(folder, meta["tensors"], name);
        if (!expected) return expected.error();
        if (auto status = compare(name, (*outputs)[i], *expected); !status) return status;
    }
    return ok();
}

int run_conformance(std::span<const std::string> folders) {
    int passed = 0, failed = 0;
    bool all_found = true;
    for (const std::string& folder : folders) {
        const auto cases = find_cases(folder);
        if (cases.empty()) {
            std::printf("%s: holds no case, which is a folder with a meta.json\n", folder.c_str());
            all_found = false;
        }
        for (const fs::path& path : cases) {
            const Status status = check_case(path);
            if (!status)
                std::printf("FAILED %s: %s\n", path.string().c_str(), status.error().message.c_str());
            ++(status ? passed : failed);
        }
    }
    std::printf("%d passed, %d failed\n", passed, failed);
    return all_found && failed == 0 && passed > 0 ? 0 : 1;
}

}  // namespace attn
