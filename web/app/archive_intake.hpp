// Takes a .zip from the page and unpacks it. Its files go back to the page, which opens them as if they had
// been dropped in a folder with the archive's name.
#pragma once

#include <memory>
#include <string>

#include "app/page.hpp"
#include "app/resident.hpp"
#include "io/unzip.hpp"

namespace attn::app {

class ArchiveIntake final : public FileIntake {
  public:
    // Limits the archive and its unpacked size, because both are in memory for a moment.
    static constexpr std::uint64_t bytes_limit = 300'000'000;

    explicit ArchiveIntake(Visit& visit) : visit_(visit) {}
    Result<std::byte*> buffer(const std::string& file, std::uint64_t size) override;
    bool arrived() override;
    void discard() override;

  private:
    Result<std::map<std::string, std::vector<std::byte>>> unpacked() const;

    Visit& visit_;
    std::string name_;
    std::unique_ptr<std::byte[], FreeBytes> room_;
    std::size_t size_ = 0;
};

}  // namespace attn::app
