// Defines `attn lesson FILE…`.
#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/lesson.hpp"
#include "cli/model_folder.hpp"
#include "headless/lesson_report.hpp"

namespace attn {

namespace {

using headless::LessonReport;

std::string many_of(std::size_t count, const char* what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

int print(const std::string& file, const LessonReport& report) {
    for (const lesson::Finding& finding : report.findings)
        std::printf("%s:%zu: %s\n", file.c_str(), finding.line, finding.sentence.c_str());
    if (!report.remark.empty()) std::printf("%s: %s\n", file.c_str(), report.remark.c_str());
    std::fflush(stdout);
    return static_cast<int>(report.findings.size());
}

}  // namespace

int run_lesson(std::span<const std::string> words) {
    constexpr std::array<std::string_view, 1> options{"--models"};
    const auto arguments = Arguments::parse(words, options);
    if (!arguments || arguments->positional().empty()) {
        std::fprintf(stderr, "attn: %s; attn --help explains\n",
                     arguments ? "lesson takes a FILE" : arguments.error().message.c_str());
        return 2;
    }
    const auto given = arguments->text("--models");
    const std::string models = given ? *given : "models";
    const auto read = [&](const std::string& path) { return read_file(models + "/" + path); };
    std::size_t steps = 0, findings = 0;
    for (const std::string& file : arguments->positional()) {
        const auto bytes = read_file(file);
        if (!bytes) {
            std::fprintf(stderr, "attn: %s\n", bytes.error().message.c_str());
            return 1;
        }
        const LessonReport report = headless::report_on(*bytes, read);
        steps += report.steps;
        findings += static_cast<std::size_t>(print(file, report));
    }
    std::printf("%s, %s: %s\n", many_of(arguments->positional().size(), "lesson").c_str(),
                many_of(steps, "step").c_str(),
                findings == 0 ? "all pass" : many_of(findings, "finding").c_str());
    return findings == 0 ? 0 : 1;
}

}  // namespace attn
