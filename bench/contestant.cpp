#include "contestant.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>

#include "cases.hpp"
#include "ceiling.hpp"
#include "gguf_file.hpp"
#include "kernels/workers.hpp"

namespace attn::bench {

namespace {

using nlohmann::json;

struct Entry {
    json description;
    std::function<Case()> make;
};

Entry attention_entry(std::string sizes, Index heads, Index kv_heads, Index n, Index d, bool causal,
                      Index window) {
    std::string name = "attention " + sizes + " n=" + std::to_string(n) +
                       (window   ? " window " + std::to_string(window)
                        : causal ? " causal"
                                 : " full");
    Mask mask = causal ? Mask::causal() : Mask();
    if (window) mask = mask & Mask::window(window - 1, 0);
    return {{{"name", name},
             {"kind", "attention"},
             {"heads", heads},
             {"kv_heads", kv_heads},
             {"n", n},
             {"d", d},
             {"causal", causal},
             {"window", window}},
            [=] { return attention(name, heads, kv_heads, n, d, mask); }};
}

Entry linear_entry(Index n, Index in, Index out) {
    const std::string name = (n == 1 ? "matrix-vector " : "GEMM ") + std::to_string(n) + "×" +
                             std::to_string(in) + "×" + std::to_string(out);
    return {{{"name", name}, {"kind", "linear"}, {"n", n}, {"in", in}, {"out", out}},
            [=] { return linear(n, in, out, DType::f32, WeightView::Layout::in_out); }};
}

std::vector<Entry> entries() {
    std::vector<Entry> all;
    for (const Index n : {128, 512, 1024, 2048, 4096})
        for (const bool causal : {false, true})
            all.push_back(attention_entry("12×64", 12, 12, n, 64, causal, 0));
    all.push_back(attention_entry("32/8×128", 32, 8, 1024, 128, false, 0));
    all.push_back(attention_entry("32/8×128", 32, 8, 1024, 128, true, 0));
    all.push_back(attention_entry("12×64", 12, 12, 4096, 64, true, 256));
    all.push_back(linear_entry(512, 768, 768));
    all.push_back(linear_entry(512, 768, 3072));
    all.push_back(linear_entry(1, 768, 3072));
    all.push_back({{{"name", "exp of 2²⁰"}, {"kind", "exp"}}, [] { return exponentials(1 << 20); }});
    for (const Index n : {128, 512})
        all.push_back({{{"name", "GPT-2 small n=" + std::to_string(n)}, {"kind", "gpt2"}, {"n", n}},
                       [=] { return gpt2(n); }});
    all.push_back({{{"name", "training 1.9 M, 12×256"}, {"kind", "training"}}, [] { return training(); }});
    for (const std::string_view kind : gguf_kinds)
        for (const bool token : {false, true})
            all.push_back(
                {{{"name", "GPT-2 small " + std::string(kind) + (token ? ": a token" : ": 512 tokens")},
                  {"kind", "gguf"},
                  {"type", kind},
                  {"token", token}},
                 [=] { return gguf(kind, token); }});
    return all;
}

struct Opened {
    Case task;
    const Kernels* kernels;
};
Opened opened;

void save(const std::string& name, const std::vector<std::span<const std::byte>>& parts) {
    std::FILE* file = std::fopen(name.c_str(), "wb");
    if (!file) return;  // whoever asked finds no file
    for (const auto part : parts) std::fwrite(part.data(), 1, part.size(), file);
    std::fclose(file);
}

json open(const json& request) {
    opened = {};
    set_thread_count(request.value("threads", 1));  // making a case may compute, too
    for (const Entry& entry : entries())
        if (entry.description["name"] == request["case"]) opened.task = entry.make();
    if (!opened.task.run) return {{"error", "there is no case " + request.value("case", "")}};
    for (const Kernels* kernels : all_kernels())
        if (kernels->name.find(request.value("table", "")) != std::string_view::npos)
            opened.kernels = kernels;

    json inputs = json::array();
    std::vector<std::span<const std::byte>> parts;
    for (const Input& input : opened.task.inputs) {
        inputs.push_back({{"name", input.name},
                          {"shape", input.shape},
                          {"address", reinterpret_cast<std::uintptr_t>(input.bytes.data())},
                          {"bytes", input.bytes.size()}});
        parts.push_back(input.bytes);
    }
    if (request.contains("file")) save(request["file"], parts);
    return {{"table", opened.kernels->name}, {"operations", opened.task.operations}, {"inputs", inputs}};
}

// Returns the times of as many calls as fit, in milliseconds.
template <class F>
std::vector<double> times(double seconds, F call) {
    using Clock = std::chrono::steady_clock;
    using Milliseconds = std::chrono::duration<double, std::milli>;
    std::vector<double> all;
    const auto start = Clock::now();
    for (auto begin = start; all.empty() || begin - start < std::chrono::duration<double>(seconds);) {
        call();
        const auto end = Clock::now();
        all.push_back(Milliseconds(end - begin).count());
        begin = end;
    }
    return all;
}

double ceiling(double seconds) {
    const Ceiling multiply_adds = lanes_of(opened.kernels->name).ceiling;
    if (!multiply_adds) return 0;
    float sink[3] = {1.0000001f, 1e-7f, 0};
    double operations = 0;
    const auto all = times(seconds, [&] { operations = multiply_adds(sink); });
    return operations / (std::ranges::min(all) / 1000);
}

json output(const json& request) {
    const auto bytes = std::as_bytes(opened.task.output);
    if (request.contains("file")) save(request["file"], {bytes});
    return {{"address", reinterpret_cast<std::uintptr_t>(bytes.data())}, {"bytes", bytes.size()}};
}

json answer_to(const json& request) {
    const std::string wish = request.value("do", "");
    const double seconds = request.value("seconds", 0.0);
    if (wish == "list") {
        json cases = json::array();
        for (const Entry& entry : entries()) cases.push_back(entry.description);
        return {{"cases", cases}};
    }
    if (wish == "open") return open(request);
    if (wish == "run") return {{"times", times(seconds, [] { opened.task.run(*opened.kernels); })}};
    if (wish == "ceiling") return {{"rate", ceiling(seconds)}};
    if (wish == "output") return output(request);
    if (wish == "close") {
        opened = {};
        return json::object();
    }
    return {{"error", "unknown request " + wish}};
}

}  // namespace

std::string answer(std::string_view request) {
    return answer_to(json::parse(request, nullptr, false)).dump();
}

}  // namespace attn::bench
