// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// scenario DEVICE FOLDER FUNCTIONS: as scenario.c, by millrace.hpp.
#include <array>
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "millrace/millrace.hpp"

namespace {

constexpr std::size_t count = 1'000'000;
constexpr std::size_t bytes = count * sizeof(double);

void expect(bool right, const char* what) {
  if (!right) throw std::runtime_error(what);
}
#define EXPECT(condition) expect(condition, #condition)

template <class Body>
int error_of(const Body& body) {
  try {
    body();
  } catch (const std::system_error& error) {
    return error.code().value();
  }
  return 0;
}

void files(const millrace::Device& device, const std::vector<double>& values, const std::string& path) {
  const millrace::DeviceMemory memory(device, bytes);
  std::vector<double> back(count);
  millrace::File file(path, MILLRACE_READ | MILLRACE_WRITE | MILLRACE_CREATE | MILLRACE_TRUNCATE, 0600);
  device.write_mem(memory.address(), values);
  EXPECT(file.write(memory) == bytes);
  millrace::Request request;
  request.write(file, memory.part(0, bytes / 2), bytes);
  EXPECT(error_of([&] { file.close(); }) == EBUSY);
  while (!request.done()) {
  }
  EXPECT(request.wait() == bytes / 2);
  request.read(file, back, bytes / 2);
  EXPECT(request.wait_for(std::chrono::seconds(60)) == bytes);
  EXPECT(back[0] == values[count / 2] && back[count / 2] == values[0] &&
         back.back() == values[count / 2 - 1]);
  EXPECT(file.seek(8) == 8);
  EXPECT(file.read(memory.part(0, 16)) == 16);
  std::array<double, 3> few{};
  device.read_mem(few, memory.address());
  EXPECT(few[0] == 1 && few[1] == 2 && few[2] == 2);
  EXPECT(file.read_at(few, bytes) == sizeof few && few[2] == 2);
  file.truncate(bytes + 8);
  EXPECT(file.size() == bytes + 8);
  file.sync();
  file.close();
  EXPECT(error_of([&] { file.close(); }) == EBADF);
  EXPECT(error_of([&] { millrace::File("/no/such/file"); }) == ENOENT);
  EXPECT(error_of([&] { (void)memory.part(1, bytes); }) == EFAULT);
}

void functions(int where, const millrace::Device& device, const std::vector<double>& values,
               const char* path) {
  const millrace::DeviceMemory memory(device, bytes);
  const millrace::Channel channel(where);
  const std::uint64_t library = channel.install(path);
  const std::uint64_t sum = channel.find(library, "sum"), fill = channel.find(library, "fill");
  std::vector<double> back = values;
  std::array<double, 1> total{};
  device.write_mem(memory.address(), values);
  EXPECT(channel.invoke(sum, {millrace::in(memory), millrace::number(count), millrace::out(total),
                              millrace::inout(back)}) == count);
  EXPECT(total[0] == 0.5 * count * (count - 1) && back[3] == 9);
  const millrace::Queue queue(device);
  const std::uint64_t written = queue.write_mem(memory.address(), back);
  const std::uint64_t called = queue.call(
      channel, fill,
      {millrace::call(), millrace::number(memory.address()), millrace::number(16), millrace::number(0)});
  std::array<double, 4> few{};
  const std::uint64_t read = queue.read_mem(few, memory.address());
  queue.sync();
  EXPECT(queue.done(read));
  EXPECT(queue.wait(called) == 0);
  EXPECT(queue.wait(written) == 0 && queue.wait(read) == 0);
  EXPECT(few[1] == 0 && few[2] == 4 && few[3] == 9);
  EXPECT(error_of([&] { (void)channel.find(library, "no_such_function"); }) == ENOENT);
  channel.uninstall(library);
}

}  // namespace

int main(int words, char** word) {
  if (words != 4) return 2;
  try {
    std::vector<double> values(count);
    std::iota(values.begin(), values.end(), 0.0);
    {
      millrace::Device device(word[1]);
      files(device, values, std::string(word[2]) + "/cpp");
      functions(MILLRACE_THREAD, device, values, word[3]);
      functions(MILLRACE_PROCESS, device, values, word[3]);
      millrace::Device moved(std::move(device));
      EXPECT(device.get() == nullptr && moved.get() != nullptr);
    }
    millrace_counts counts;
    millrace::checked(millrace_get_counts(&counts, sizeof counts));
    EXPECT(counts.handles == 0 && counts.staging_bytes == 0);
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
  std::puts("all is well");
}
