// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstring>
#include <thread>

#include "staging/cuda/current.hpp"
#include "staging/cuda/find.hpp"
#include "staging/cuda/library.hpp"
#include "staging/pool.hpp"
#include "staging/testing/rig.hpp"

// Functions of the driver that programs call, and Millrace does not.
extern "C" {
using millrace::staging::cuda::Context;
using millrace::staging::cuda::Error;
using millrace::staging::cuda::Pointer;
using millrace::staging::cuda::Stream;
Error cuInit(unsigned);
Error cuCtxCreate_v2(Context*, unsigned, int);
Error cuCtxDestroy_v2(Context);
Error cuCtxGetCurrent(Context*);
Error cuDevicePrimaryCtxRetain(Context*, int);
Error cuDevicePrimaryCtxRelease_v2(int);
Error cuCtxPushCurrent_v2(Context);
Error cuCtxPopCurrent_v2(Context*);
Error cuMemAlloc_v2(Pointer*, std::size_t);
Error cuMemAllocAsync(Pointer*, std::size_t, Stream);
Error cuMemAllocManaged(Pointer*, std::size_t, unsigned);
Error cuMemFree_v2(Pointer);
Error cuStreamCreate(Stream*, unsigned);
Error cuStreamDestroy_v2(Stream);
}

namespace millrace::staging::cuda {
namespace {

using namespace millrace::staging::testing;

constexpr Error unknown_error = 999;

fake_cuda_live live() {
  fake_cuda_live now{};
  fake_cuda_get_live(&now);
  return now;
}

// A ring may stay registered and mapped if unregistering it failed.
void expect_nothing_left(int rings = 0) {
  fake_cuda_live now = live();
  EXPECT_EQ(now.misuse, 0) << fake_cuda_last_misuse();
  EXPECT_EQ(now.stale, 0);
  EXPECT_LE(now.registrations, rings);
  now.registrations = 0;
  EXPECT_EQ(now.streams + now.events + now.registrations + now.allocations + now.retained + now.pushed, 0)
      << now.streams << " streams, " << now.events << " events, " << now.registrations << " registrations, "
      << now.allocations << " allocations, " << now.retained << " retained, " << now.pushed << " pushed";
}

const void* host_pointer(Pointer pointer) { return reinterpret_cast<const void*>(pointer); }

// Calls every operation once, up to the first failure. True if all results were right.
bool everything(std::uint64_t bytes) {
  std::string why;
  Result<std::unique_ptr<CudaDevice>> device = CudaDevice::open(0, {2'000}, why);
  if (!device) return false;
  Pool pool({.shape = {2, 16 * KiB, 4 * KiB}, .bytes_max = 64 * KiB});
  const Bytes wanted = pattern(bytes);
  const Result<Address> memory = (*device)->allocate(bytes);
  if (!memory) return false;
  const File source(wanted);
  const File target;
  FileEnd in(source.get(), 0);
  const Moved read = pool.read(**device, in, *memory, bytes);
  auto* inside = static_cast<std::byte*>(fake_cuda_inside(static_cast<Pointer>(*memory)));
  EXPECT_TRUE(std::equal(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(read.bytes), inside))
      << "what it says was read is there";
  std::memcpy(inside, wanted.data(), bytes);
  FileEnd out(target.get(), 0);
  const Moved written = pool.write(**device, *memory, bytes, out);
  EXPECT_EQ(target.contents(), first(wanted, written.bytes));
  EXPECT_TRUE(read.bytes == bytes || !read.status.ok()) << "never silently less";
  EXPECT_TRUE(written.bytes == bytes || !written.status.ok());
  const bool right = read.bytes == bytes && written.bytes == bytes;
  return (*device)->release(*memory).ok() && right;
}

TEST(Cuda, EveryCallMayFailAndNothingLeaksOrHangs) {
  fake_cuda_reset(test_seed(), 20);
  ASSERT_TRUE(everything(50'000));
  expect_nothing_left();
  // The number of calls depends on timing, because waits poll events. So the loop ends when no n-th call
  // exists.
  std::uint64_t failed = 0;
  int rings_left = 0;
  for (std::uint64_t n = 1; n < 2000; ++n) {
    fake_cuda_reset(test_seed() + n, 20);
    fake_cuda_fail_at(n, unknown_error);
    const bool right = everything(50'000);
    failed += !right;
    rings_left += live().registrations;
    expect_nothing_left(1);
    if (HasFailure()) FAIL() << "the call that failed was number " << n << ", seed " << test_seed();
    if (fake_cuda_calls() < n) break;
  }
  EXPECT_GT(failed, 20U);
  EXPECT_LE(rings_left, 3) << "only for the calls without which nothing can be unregistered";
}

TEST(Cuda, ACopySeesWhatKernelsDidBefore) {
  fake_cuda_reset(test_seed(), 100);
  const auto device = make_device("cuda");
  auto& cuda = static_cast<CudaDevice&>(*device);
  std::string why;
  const Table& table = *driver(false, why);
  constexpr std::size_t size = 20'000;
  Memory memory(*device, size);
  Pool pool({.shape = {2, 16 * KiB, 4 * KiB}});
  const Current current(table, cuda.context());
  Stream blocking = nullptr;
  ASSERT_EQ(cuStreamCreate(&blocking, 0), success);
  int value = 0;
  for (Stream stream : {Stream{nullptr}, legacy_stream(), blocking}) {
    ++value;
    ASSERT_EQ(fake_cuda_fill(static_cast<Pointer>(memory.at()), value, size, stream, 30'000), success);
    const File file;
    FileEnd end(file.get());
    EXPECT_EQ(pool.write(*device, memory.at(), size, end).count(), static_cast<ssize_t>(size));
    EXPECT_EQ(file.contents(), Bytes(size, static_cast<std::byte>(value)));
    // A read must not fill memory that a kernel still uses.
    ASSERT_EQ(fake_cuda_fill(static_cast<Pointer>(memory.at()), 77, size, stream, 30'000), success);
    const Bytes bytes = pattern(size, static_cast<unsigned>(value));
    const File source(bytes);
    FileEnd in(source.get(), 0);
    EXPECT_EQ(pool.read(*device, in, memory.at(), size).count(), static_cast<ssize_t>(size));
    EXPECT_EQ(memory.get(), bytes);
  }
  EXPECT_EQ(cuStreamDestroy_v2(blocking), success);
}

TEST(Cuda, WorkOfNonBlockingStreamsIsNotWaitedFor) {
  fake_cuda_reset(test_seed(), 0);
  const auto device = make_device("cuda");
  std::string why;
  const Current current(*driver(false, why), static_cast<CudaDevice&>(*device).context());
  Memory memory(*device, 4096);
  Memory other(*device, 4096);
  Stream stream = nullptr;
  ASSERT_EQ(cuStreamCreate(&stream, stream_non_blocking), success);
  ASSERT_EQ(fake_cuda_fill(static_cast<Pointer>(other.at()), 1, 4096, stream, 1'000'000), success);
  const auto begin = std::chrono::steady_clock::now();
  (void)memory.get();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(700));
  EXPECT_EQ(cuStreamDestroy_v2(stream), success);
}

TEST(Cuda, RefusedRegistrationMeansSlowerCopiesOnly) {
  fake_cuda_reset(test_seed(), 50);
  {
    const auto device = make_device("cuda");
    static std::string told;
    Pool pool({.shape = {2, 16 * KiB, 4 * KiB}, .tell = [](const char* line) { told = line; }});
    fake_cuda_refuse_pins(unknown_error);
    const Bytes bytes = pattern(70'000);
    Memory memory(*device, bytes);
    const File file;
    FileEnd end(file.get());
    EXPECT_EQ(pool.write(*device, memory.at(), bytes.size(), end).count(), 70'000);
    EXPECT_EQ(file.contents(), bytes);
    EXPECT_EQ(pool.counts().unpinned, 1U);
    EXPECT_NE(told.find("(CUDA_ERROR_UNKNOWN)"), std::string::npos) << told;
    EXPECT_EQ(told.find("file"), std::string::npos) << "no file is concerned: " << told;
  }
  expect_nothing_left();
}

TEST(Cuda, ADeviceThatStallsIsAnErrorInTime) {
  fake_cuda_reset(test_seed(), 0);
  static auto& device = *make_device("cuda", 100).release();
  static auto& pool = *new Pool({.shape = {2, 16 * KiB, 4 * KiB}});
  static auto& memory = *new Memory(device, pattern(5000));
  const Result<std::unique_ptr<Queue>> queue = device.open_queue();
  ASSERT_TRUE(queue.ok());
  static auto& host = *new Bytes(64);  // the stuck copy may write to it at any later time
  fake_cuda_stall(1);
  const Result<CopyTicket> ticket = (*queue)->post(CopyDirection::to_host, memory.at(), host);
  ASSERT_TRUE(ticket.ok());
  EXPECT_EQ((*queue)->wait(*ticket).code(), Code::timeout);
  fake_cuda_stall(0);
  const File file;
  FileEnd end(file.get());
  EXPECT_EQ(pool.write(device, memory.at(), 5000, end).count(), 5000) << "it goes on";
  pool.forget(device);
}

TEST(Cuda, TheProgramsContextIsCurrentAgainAfterACall) {
  fake_cuda_reset(test_seed(), 0);
  const auto device = make_device("cuda");
  Context own = nullptr;
  ASSERT_EQ(cuCtxCreate_v2(&own, 0, 1), success);
  Memory memory(*device, pattern(5000));
  EXPECT_EQ(memory.get(), pattern(5000)) << "with another context current";
  Context now = nullptr;
  ASSERT_EQ(cuCtxGetCurrent(&now), success);
  EXPECT_EQ(now, own);
  EXPECT_EQ(cuCtxDestroy_v2(own), success);
  EXPECT_EQ(live().misuse, 0) << fake_cuda_last_misuse();
}

TEST(Cuda, AProgramsPointersAreTakenForWhatTheyAre) {
  fake_cuda_reset(test_seed(), 0);
  int local = 0;
  EXPECT_EQ(device_of(&local), nullptr) << "before cuInit";
  EXPECT_EQ(live().retained, 0) << "nothing was initialised for that";
  ASSERT_EQ(cuInit(0), success);
  EXPECT_EQ(device_of(&local), nullptr);
  Context first_context = nullptr;
  Context second = nullptr;
  Pointer of_first = 0;
  Pointer of_second = 0;
  Pointer managed = 0;
  ASSERT_EQ(cuCtxCreate_v2(&first_context, 0, 0), success);
  ASSERT_EQ(cuMemAlloc_v2(&of_first, 10'000), success);
  ASSERT_EQ(cuMemAllocManaged(&managed, 10'000, 1), success);
  ASSERT_EQ(cuCtxCreate_v2(&second, 0, 1), success);
  ASSERT_EQ(cuMemAlloc_v2(&of_second, 10'000), success);
  EXPECT_EQ(device_of(host_pointer(managed)), nullptr) << "the host can use it";
  Device* one = device_of(host_pointer(of_first + 9'999));
  Device* two = device_of(host_pointer(of_second));
  ASSERT_NE(one, nullptr);
  ASSERT_NE(two, nullptr);
  EXPECT_NE(one, two);
  EXPECT_EQ(device_of(host_pointer(of_first)), one) << "found again";
  EXPECT_TRUE(one->owns(Address{of_first}));
  EXPECT_FALSE(one->owns(Address{of_second}));
  EXPECT_EQ(device_of(host_pointer(of_first + 10'000)), nullptr) << "behind its end";
  Bytes bytes = pattern(10'000);
  EXPECT_TRUE(copy_now(*two, CopyDirection::to_device, Address{of_second}, bytes).ok());
  EXPECT_EQ(std::memcmp(fake_cuda_inside(of_second), bytes.data(), bytes.size()), 0);
  EXPECT_EQ(cuMemFree_v2(managed), success);
  EXPECT_EQ(cuCtxDestroy_v2(second), success);
  EXPECT_EQ(cuCtxDestroy_v2(first_context), success);
  EXPECT_FALSE(copy_now(*one, CopyDirection::to_device, Address{of_first}, bytes).ok()) << "it has gone";
  expect_nothing_left();
}

TEST(Cuda, MemoryOfAPoolIsUsedByThePrimaryContext) {
  fake_cuda_reset(test_seed(), 0);
  ASSERT_EQ(cuInit(0), success);
  Context primary = nullptr;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&primary, 1), success);
  ASSERT_EQ(cuCtxPushCurrent_v2(primary), success);
  Pointer pointer = 0;
  ASSERT_EQ(cuMemAllocAsync(&pointer, 10'000, nullptr), success);
  Device* device = device_of(host_pointer(pointer));
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(device_of(host_pointer(pointer)), device);
  EXPECT_EQ(live().retained, 2) << "once by the program, once for good";
  Bytes bytes = pattern(10'000);
  EXPECT_TRUE(copy_now(*device, CopyDirection::to_device, Address{pointer}, bytes).ok());
  EXPECT_EQ(std::memcmp(fake_cuda_inside(pointer), bytes.data(), bytes.size()), 0);
  EXPECT_EQ(cuMemFree_v2(pointer), success);
  ASSERT_EQ(cuCtxPopCurrent_v2(&primary), success);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(1), success);
}

TEST(Cuda, ADeviceThatIsNotThereIsNamed) {
  fake_cuda_reset(test_seed(), 0);
  std::string why;
  EXPECT_EQ(CudaDevice::open(7, {}, why).status().code(), Code::not_found);
  EXPECT_NE(why.find("no CUDA device 7"), std::string::npos) << why;
  fake_cuda_fail_at(fake_cuda_calls() + 1, 100);
  EXPECT_EQ(CudaDevice::open(0, {}, why).status().code(), Code::unsupported);
  EXPECT_NE(why.find("CUDA_ERROR"), std::string::npos) << why;
}

}  // namespace
}  // namespace millrace::staging::cuda
