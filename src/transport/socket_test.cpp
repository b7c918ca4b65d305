// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/socket.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

#include "transport/memory.hpp"

namespace millrace::transport {
namespace {

std::string test_name(const char* what) { return "millrace-test-" + std::to_string(::getpid()) + "-" + what; }

TEST(Socket, CarriesAMessageAndItsDescriptors) {
  Result<Fd> listener = listen_at(test_name("carry"));
  ASSERT_TRUE(listener.ok());
  Result<Fd> client = connect_to(test_name("carry"));
  ASSERT_TRUE(client.ok());
  Result<Fd> server = accept_from(listener->get());
  ASSERT_TRUE(server.ok());
  EXPECT_TRUE(same_user(client->get()));
  EXPECT_TRUE(same_user(server->get()));
  Result<Fd> memory = make_memory("test", 8192);
  ASSERT_TRUE(memory.ok());
  const std::uint64_t word = 0x1122334455667788u;
  ASSERT_TRUE(send(client->get(), word, {memory->get()}).ok());
  std::uint64_t got = 0;
  Result<Received> received = receive_message(server->get(), &got, sizeof got);
  ASSERT_TRUE(received.ok());
  EXPECT_EQ(received->size, sizeof got);
  EXPECT_EQ(got, word);
  EXPECT_TRUE(is_sealed_memory(received->descriptors[0].get(), 8192));
  EXPECT_FALSE(received->descriptors[1].valid());
}

TEST(Socket, AWaitGoesOnAfterASignalHandlerOfTheProgram) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Fd reader(ends[0]), writer(ends[1]);
  struct sigaction often {
  }, before{};
  often.sa_handler = [](int) {};
  often.sa_flags = SA_RESTART;
  ASSERT_EQ(::sigaction(SIGALRM, &often, &before), 0);
  std::thread late([&] {
    sigset_t alarm;
    ::sigemptyset(&alarm);
    ::sigaddset(&alarm, SIGALRM);
    ::pthread_sigmask(SIG_BLOCK, &alarm, nullptr);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_EQ(::write(writer.get(), "x", 1), 1);
  });
  const itimerval each_ms{{0, 1000}, {0, 1000}}, never{};
  ::setitimer(ITIMER_REAL, &each_ms, nullptr);
  const bool none = wait_readable(reader.get(), 20), some = wait_readable(reader.get(), 60'000);
  ::setitimer(ITIMER_REAL, &never, nullptr);
  late.join();
  ::sigaction(SIGALRM, &before, nullptr);
  EXPECT_FALSE(none);
  EXPECT_TRUE(some);
}

TEST(Socket, SaysThatThePeerHasGone) {
  Result<Fd> listener = listen_at(test_name("gone"));
  Result<Fd> client = connect_to(test_name("gone"));
  Result<Fd> server = accept_from(listener->get());
  ASSERT_TRUE(server.ok());
  EXPECT_FALSE(hung_up(client->get()));
  server->reset();
  EXPECT_TRUE(hung_up(client->get()));
}

TEST(Socket, NameIsALock) {
  Result<Fd> first = listen_at(test_name("lock"));
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(listen_at(test_name("lock")).status().error(), EADDRINUSE);
  first->reset();
  EXPECT_TRUE(listen_at(test_name("lock")).ok());
}

TEST(Socket, ConnectingHasABoundWhereNobodyAccepts) {
  const Result<Fd> listener = listen_at(test_name("full"));
  ASSERT_EQ(::listen(listener->get(), 0), 0);
  std::vector<Result<Fd>> queued;
  do {
    queued.push_back(connect_to(test_name("full"), 50));
  } while (queued.back().ok() && queued.size() < 100);
  EXPECT_EQ(queued.back().status().error(), EAGAIN);
}

TEST(Socket, ANameIsTakenBeforeItsSocketListens) {
  const Result<Fd> socket = take_name(test_name("handed"));
  EXPECT_EQ(listen_at(test_name("handed")).status().error(), EADDRINUSE);
  EXPECT_EQ(connect_to(test_name("handed")).status().error(), ECONNREFUSED);
  EXPECT_FALSE(Lookout(test_name("handed")).anybody_listens());
  ASSERT_TRUE(listen(*socket).ok());
  const Result<Fd> peer = connect_to(test_name("handed"));
  EXPECT_TRUE(peer.ok());
  EXPECT_TRUE(accept_from(socket->get()).ok());
  EXPECT_FALSE(listen(*peer).ok()) << "it has no name";
}

TEST(Memory, CanNotBeShrunkUnderTheOtherSide) {
  Result<Fd> memory = make_memory("test", 8192);
  ASSERT_TRUE(memory.ok());
  EXPECT_NE(::ftruncate(memory->get(), 0), 0);
  EXPECT_TRUE(is_sealed_memory(memory->get(), 8192));
  EXPECT_FALSE(is_sealed_memory(memory->get(), 4096));
}

}  // namespace
}  // namespace millrace::transport
