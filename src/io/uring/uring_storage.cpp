// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/uring/uring_storage.hpp"

#include <fcntl.h>
#include <liburing.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <utility>
#include <vector>

#include "io/posix/descriptor.hpp"
#include "io/posix/identity.hpp"
#include "io/posix/owned.hpp"
#include "io/posix/transfer.hpp"

namespace millrace::io {

namespace {

std::uint64_t ns_of(const statx_timestamp& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

constexpr unsigned ring_entries = 64;  // requests in the kernel; more wait in waiting_

// A Storage over io_uring. One thread calls it, and the kernel's workers carry out the requests. The
// completion queue has room for every request that can be in the kernel, so it cannot overflow.
class UringStorage final : public Storage {
 public:
  static Result<std::unique_ptr<Storage>> create();
  ~UringStorage() override;

  Result<Handle> adopt(Fd file, bool direct) override;
  void release(Handle file) override { files_.at(file).file.reset(); }
  Result<std::uint64_t> size(Handle file) override { return size_of(files_.at(file).file); }
  Status resize(Handle file, std::uint64_t bytes) override { return io::resize(files_.at(file).file, bytes); }
  Status put(Handle file, std::uint64_t offset, std::span<const std::byte> data) override {
    return io::write_at(files_.at(file).file, offset, data);
  }
  Result<FileIdentity> identify(const Fd& file, bool for_good) override {
    return io::identify(file, for_good);
  }
  Result<FileState> state_of(const Fd& file) override { return io::state_of(file); }
  void submit(Request request) override { waiting_.push_back(std::move(request)); }
  void kick() override;
  void poll(std::vector<Completion>& out) override;
  int event_fd() const override { return event_.get(); }

 private:
  // A request in the kernel. Its iovecs must not move meanwhile, so a Flight never moves.
  struct Flight {
    Request request;
    Transfer transfer;
    int fd = -1;
    struct statx state = {};  // of a look
  };

  UringStorage() : flights_(ring_entries) {
    for (unsigned slot = 0; slot < ring_entries; ++slot) free_.push_back(slot);
  }
  Status set_up();
  void prepare(unsigned slot);
  // True if the request has ended; then `done` is filled.
  bool finish(unsigned slot, int result, Completion& done);

  io_uring ring_ = {};
  bool ring_open_ = false;
  Fd event_;
  std::vector<Adopted> files_;
  std::deque<Request> waiting_;
  std::vector<Flight> flights_;
  std::vector<unsigned> free_;  // free slots of flights_
  bool event_may_be_set_ = false;
};

Status UringStorage::set_up() {
  const int result = io_uring_queue_init(ring_entries, &ring_, 0);
  if (result < 0) return Status::from_errno(-result);
  ring_open_ = true;
  io_uring_probe* const probe = io_uring_get_probe_ring(&ring_);
  if (probe == nullptr) return Status::from_errno(ENOSYS);
  bool all = true;
  for (const int op :
       {IORING_OP_WRITEV, IORING_OP_READV, IORING_OP_FSYNC, IORING_OP_SYNC_FILE_RANGE, IORING_OP_STATX}) {
    all = all && io_uring_opcode_supported(probe, op) != 0;
  }
  io_uring_free_probe(probe);
  if (!all) return Status::from_errno(ENOSYS);
  event_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event_.valid()) return Status::from_errno(errno);
  const int registered = io_uring_register_eventfd(&ring_, event_.get());
  return registered < 0 ? Status::from_errno(-registered) : Status();
}

Result<std::unique_ptr<Storage>> UringStorage::create() {
  std::unique_ptr<UringStorage> storage(new UringStorage());
  const Status status = storage->set_up();
  if (!status.ok()) return status;
  return std::unique_ptr<Storage>(std::move(storage));
}

UringStorage::~UringStorage() {
  if (!ring_open_) return;
  // Waits for the last completion, because the kernel uses the callers' memory until then.
  waiting_.clear();
  io_uring_submit(&ring_);
  while (free_.size() < ring_entries) {
    io_uring_cqe* cqe = nullptr;
    const int result = io_uring_wait_cqe(&ring_, &cqe);
    if (result == -EINTR) continue;
    if (result < 0) break;
    free_.push_back(static_cast<unsigned>(cqe->user_data));
    io_uring_cqe_seen(&ring_, cqe);
  }
  io_uring_queue_exit(&ring_);
}

Result<Handle> UringStorage::adopt(Fd file, bool direct) {
  Result<Adopted> adopted = io::adopt(std::move(file), direct);
  if (!adopted) return adopted.status();
  files_.push_back(*std::move(adopted));
  return static_cast<Handle>(files_.size() - 1);
}

void UringStorage::prepare(unsigned slot) {
  Flight& flight = flights_[slot];
  io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
  // There are as many entries as slots. So the queue is full only if the kernel has refused an earlier
  // submit.
  if (sqe == nullptr && io_uring_submit(&ring_) > 0) sqe = io_uring_get_sqe(&ring_);
  if (sqe == nullptr) return;
  const Request& request = flight.request;
  switch (request.op) {
    case Op::write:
    case Op::read: {
      const std::span<iovec> data = flight.transfer.next();
      const auto count = static_cast<unsigned>(data.size());
      if (request.op == Op::write) {
        io_uring_prep_writev(sqe, flight.fd, data.data(), count, flight.transfer.offset());
      } else {
        io_uring_prep_readv(sqe, flight.fd, data.data(), count, flight.transfer.offset());
      }
      break;
    }
    case Op::writeback:
      // The length has 32 bits. For a longer range it is 0, which means up to the end of the file. This is
      // fine, because writeback is a hint.
      io_uring_prep_sync_file_range(sqe, flight.fd,
                                    request.length > UINT32_MAX ? 0 : static_cast<unsigned>(request.length),
                                    request.offset, 2 /* SYNC_FILE_RANGE_WRITE */);
      break;
    case Op::datasync:
      io_uring_prep_fsync(sqe, flight.fd, IORING_FSYNC_DATASYNC);
      break;
    case Op::look:
      io_uring_prep_statx(sqe, flight.fd, "", AT_EMPTY_PATH, STATX_SIZE | STATX_MTIME | STATX_CTIME,
                          &flight.state);
      break;
  }
  io_uring_sqe_set_data64(sqe, slot);
}

void UringStorage::kick() {
  while (!waiting_.empty() && !free_.empty()) {
    const unsigned slot = free_.back();
    free_.pop_back();
    Flight& flight = flights_[slot];
    flight.request = std::move(waiting_.front());
    waiting_.pop_front();
    const bool known = flight.request.file < files_.size();
    flight.fd = known ? files_[flight.request.file].file.get() : -1;
    flight.transfer = Transfer(flight.request, known ? files_[flight.request.file].cache : Cache::used);
    prepare(slot);
  }
  // If the kernel refuses now (EAGAIN, EBUSY), the entries stay. The next kick or poll submits them.
  if (io_uring_sq_ready(&ring_) > 0) io_uring_submit(&ring_);
}

bool UringStorage::finish(unsigned slot, int result, Completion& done) {
  Flight& flight = flights_[slot];
  done = {flight.request.token, {}, 0};
  switch (flight.request.op) {
    case Op::writeback:
      break;
    case Op::look:
    case Op::datasync:
      if (result == -EINTR || result == -EAGAIN) {
        prepare(slot);
        return false;
      }
      done.status = Status::from_errno(result < 0 ? -result : 0);
      if (flight.request.op == Op::look)
        done.state = {flight.state.stx_size, ns_of(flight.state.stx_mtime), ns_of(flight.state.stx_ctime)};
      break;
    case Op::write:
    case Op::read:
      if (!(flight.transfer.over() && result >= 0) && flight.transfer.advance(result)) {
        prepare(slot);
        return false;
      }
      done.status = flight.transfer.status();
      done.bytes = flight.transfer.moved();
      break;
  }
  flight.request.data.clear();
  return true;
}

void UringStorage::poll(std::vector<Completion>& out) {
  if (free_.size() == ring_entries && waiting_.empty() && !event_may_be_set_) return;
  // Clears the event before looking at completions. A later completion makes it readable again.
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t taken = read(event_.get(), &count, sizeof count);
  // The kernel posts a completion before it signals the event. So after a completion, the next poll must
  // clear the event once more.
  event_may_be_set_ = false;
  io_uring_cqe* cqe = nullptr;
  while (io_uring_peek_cqe(&ring_, &cqe) == 0) {
    const auto slot = static_cast<unsigned>(cqe->user_data);
    const int result = cqe->res;
    io_uring_cqe_seen(&ring_, cqe);
    event_may_be_set_ = true;
    Completion done;
    if (!finish(slot, result, done)) continue;
    out.push_back(done);
    free_.push_back(slot);
  }
  kick();
}

}  // namespace

Result<std::unique_ptr<Storage>> make_uring_storage() { return UringStorage::create(); }

}  // namespace millrace::io
