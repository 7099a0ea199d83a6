#include "headless/lesson_report.hpp"

#include <algorithm>
#include <iterator>

#include "app/visit.hpp"
#include "headless/screen.hpp"
#include "learn/library.hpp"
#include "learn/replay.hpp"
#include "lesson/lesson.hpp"

namespace attn::headless {

LessonReport report_on(std::span<const std::byte> file, const HeadlessPage::ReadFile& read) {
    LessonReport report;
    const auto read_lesson = lesson::parse_lesson(file);
    if (!read_lesson) {
        report.findings.push_back(lesson::finding_of(read_lesson.error()));
        return report;
    }
    const lesson::Lesson& lesson = *read_lesson;
    report.steps = lesson.steps.size();
    report.findings = app::learn::validated(lesson);
    if (lesson.needs.starts_with("hub:")) {
        report.remark = "its links were not opened, because it needs a model of the hub, " + lesson.needs;
        return report;
    }
    HeadlessPage page(read);
    if (app::learn::needs_model(lesson.needs))
        if (const Status there = page.bring(lesson.needs); !there) {
            report.findings.push_back(
                {1, there.error().message +
                        "; say where the models are with --models, or, if it needs none, needs: example"});
            return report;
        }
    app::Visit visit(page);
    visit.keep_still(true);
    if (const auto opening = page.opening()) visit.set_home(*opening);
    Screen screen(page, visit);
    std::ranges::move(app::learn::replay(lesson, visit, screen), std::back_inserter(report.findings));
    std::ranges::sort(report.findings);
    return report;
}

}  // namespace attn::headless
