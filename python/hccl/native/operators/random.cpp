#include "random.h"

#include <ATen/CPUGeneratorImpl.h>

namespace operators {

namespace {

// The wheel accepts only multiples of four as offsets.
constexpr std::uint64_t STEP = 4;
// 2^64 divided by the golden ratio, odd: spreads consecutive offsets over the whole seed space.
constexpr std::uint64_t SPREAD = 0x9E3779B97F4A7C15;

// The seed of this draw. Moves the generator on.
std::uint64_t draw(at::Generator generator) {
    const std::lock_guard<std::mutex> lock(generator.mutex());
    const auto seed = generator.current_seed();
    const auto offset = generator.get_offset();
    generator.set_offset(offset + STEP);
    return seed + offset / STEP * SPREAD;
}

std::function<std::vector<at::Generator>()> source;

at::Generator generator_of(c10::Device device) {
    static std::mutex mutex;
    static std::vector<at::Generator> known;
    {
        const std::lock_guard<std::mutex> lock(mutex);
        if (!known.empty()) {
            return known.at(device.index());
        }
    }
    // Not under the lock: the source needs Python's, which another thread may hold while it waits for ours.
    auto found = source();
    const std::lock_guard<std::mutex> lock(mutex);
    known = std::move(found);
    return known.at(device.index());
}

}  // namespace

void find_generators_by(std::function<std::vector<at::Generator>()> given) {
    source = std::move(given);
}

at::Generator stand_in(const std::optional<at::Generator>& generator, c10::Device device) {
    const bool given = generator.has_value() && generator->defined();
    TORCH_CHECK(
        !given || !generator->device().is_cpu(),
        "Expected a '",
        device,
        "' device type for generator but found 'cpu'");
    static thread_local at::Generator made = at::detail::createCPUGenerator();
    const auto seed = given ? draw(*generator) : draw(generator_of(device));
    const std::lock_guard<std::mutex> lock(made.mutex());
    made.set_current_seed(seed);
    return made;
}

BorrowedDefault::BorrowedDefault(c10::Device device) {
    static std::recursive_mutex turns;
    const auto seed = draw(generator_of(device));
    turn_ = std::unique_lock<std::recursive_mutex>(turns);
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    const std::lock_guard<std::mutex> lock(generator.mutex());
    saved_ = generator.get_state();
    generator.set_current_seed(seed);
}

BorrowedDefault::~BorrowedDefault() {
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    const std::lock_guard<std::mutex> lock(generator.mutex());
    generator.set_state(saved_);
}

}  // namespace operators
