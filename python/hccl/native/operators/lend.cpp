#include "lend.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <c10/util/SmallVector.h>

#include <mutex>
#include <unordered_map>

namespace operators {

namespace {

// Below, a copy of the result costs less than a block of the device's cache.
constexpr std::size_t LENT_MIN = std::size_t{1} << 16;

thread_local std::optional<c10::Device> lender;

// Memory that is lent, by address, with the storage that it belongs to. The address alone has to tell, because some
// kernels ask for plain addresses and hand plain addresses back.
class Loans {
  public:
    void* add(c10::Storage storage) {
        void* address = storage.mutable_data();
        const std::lock_guard<std::mutex> lock(mutex_);
        lent_.emplace(address, std::move(storage));
        return address;
    }

    // The storage, which is lent no longer; nothing if it never was.
    std::optional<c10::Storage> take(void* address) {
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto found = lent_.find(address);
        if (found == lent_.end()) {
            return std::nullopt;
        }
        c10::Storage storage = std::move(found->second);
        lent_.erase(found);
        return storage;
    }

  private:
    std::mutex mutex_;
    std::unordered_map<void*, c10::Storage> lent_;
};

// Neither ever ends: kernels keep memory in static variables.
Loans& loans() {
    static auto& made = *new Loans();
    return made;
}

c10::DeleterFnPtr plain_deleter = nullptr;

// Takes back what is lent, or what is not.
void give_back(void* address) {
    if (!loans().take(address).has_value() && address != nullptr) {
        plain_deleter(address);
    }
}

class Allocator final : public c10::Allocator {
  public:
    explicit Allocator(c10::Allocator* plain) : plain_(plain) {}

    c10::DataPtr allocate(std::size_t bytes) override {
        if (bytes < LENT_MIN || !lender.has_value()) {
            return plain_->allocate(bytes);
        }
        const auto device = *lender;
        // What the wheel itself needs meanwhile is host memory.
        const Lending pause(c10::Device(c10::kCPU));
        try {
            const at::Tensor block =
                make({static_cast<std::int64_t>(bytes)}, caffe2::TypeMeta::Make<std::uint8_t>(), device);
            void* address = loans().add(block.storage());
            return {address, address, &give_back, c10::Device(c10::kCPU)};
        } catch (const c10::OutOfMemoryError&) {
            // If it is for a result, asking for the result's own memory says so again, and better.
            return plain_->allocate(bytes);
        }
    }

    c10::DeleterFnPtr raw_deleter() const override {
        return &give_back;
    }

    void copy_data(void* to, const void* from, std::size_t count) const override {
        default_copy_data(to, from, count);
    }

  private:
    c10::Allocator* plain_;
};

}  // namespace

void lend_to_cpu_kernels() {
    c10::Allocator* plain = c10::GetCPUAllocator();
    plain_deleter = plain->raw_deleter();
    if (plain_deleter != nullptr) {
        // Lives on with the memory that remembers it.
        c10::SetCPUAllocator(new Allocator(plain));
    }
}

Lending::Lending(c10::Device device) : before_(lender) {
    lender = device.is_cpu() ? std::nullopt : std::optional<c10::Device>(device);
}

Lending::~Lending() {
    lender = before_;
}

at::Tensor take_over(const at::Tensor& result, c10::Device device) {
    const c10::Storage& storage = result.storage();
    if (storage.data_ptr().get_deleter() != &give_back || storage.use_count() != 1 || result.use_count() != 1 ||
        result.storage_offset() != 0 || result.nbytes() != storage.nbytes() || result.is_conj() || result.is_neg() ||
        !result.is_non_overlapping_and_dense()) {
        return {};
    }
    // The wheel keeps a description beside a tensor's memory, which it writes when it makes a tensor of that size. One
    // whose elements are all the same costs next to nothing until it has the lent memory.
    const c10::SmallVector<std::int64_t, 5> nowhere(result.dim(), 0);
    at::Tensor made = make_strided(result.sizes(), nowhere, result.dtype(), device);
    const auto lent = loans().take(storage.unsafeGetStorageImpl()->set_data_ptr(c10::DataPtr()).release_context());
    TORCH_INTERNAL_ASSERT(lent.has_value());
    c10::StorageImpl* target = made.storage().unsafeGetStorageImpl();
    target->set_nbytes(result.nbytes());
    target->set_data_ptr_noswap(lent->unsafeGetStorageImpl()->set_data_ptr(c10::DataPtr(nullptr, device)));
    made.unsafeGetTensorImpl()->set_sizes_and_strides(result.sizes(), result.strides());
    return made;
}

}  // namespace operators
