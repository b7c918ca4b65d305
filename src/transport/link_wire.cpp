// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/link_wire.hpp"

#include <sodium.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

namespace millrace::transport {

namespace {

static_assert(tag_bytes == crypto_onetimeauth_BYTES && key_bytes == crypto_stream_chacha20_KEYBYTES);
static_assert(sizeof(std::uint64_t) == crypto_stream_chacha20_NONCEBYTES, "a batch's number is the nonce");

constexpr char hello_magic[8] = {'m', 'i', 'l', 'l', 'l', 'i', 'n', 'k'};

using Mac = std::array<std::byte, mac_bytes>;
static_assert(sizeof(Mac) == key_bytes);

const unsigned char* bytes_of(const void* data) { return static_cast<const unsigned char*>(data); }
unsigned char* bytes_of(void* data) { return static_cast<unsigned char*>(data); }

// Lets libsodium choose its fastest code for this processor. Only the first call has an effect.
void make_ready() {
  if (sodium_init() < 0) std::abort();  // fails only if the system has no random numbers
}

// All labels have the same length. So the bytes of a label and its message are never those of another label
// and message.
Mac keyed_hash(const LinkKey& key, std::string_view label, const LinkHello& hello,
               std::span<const std::byte> challenge) {
  make_ready();
  crypto_generichash_state state;
  crypto_generichash_init(&state, bytes_of(key.bytes().data()), key_bytes, mac_bytes);
  crypto_generichash_update(&state, bytes_of(label.data()), label.size());
  crypto_generichash_update(&state, bytes_of(&hello), sizeof hello);
  crypto_generichash_update(&state, bytes_of(challenge.data()), challenge.size());
  Mac mac;
  crypto_generichash_final(&state, bytes_of(mac.data()), mac.size());
  sodium_memzero(&state, sizeof state);
  return mac;
}

constexpr std::string_view challenge_label = "millrace link 1";
constexpr std::string_view proof_label = "millrace link 2";
constexpr std::string_view connecting_label = "millrace link 3";
constexpr std::string_view accepting_label = "millrace link 4";

Mac challenge_mac(const LinkKey& key, const LinkHello& hello, const LinkChallenge& challenge) {
  return keyed_hash(key, challenge_label, hello, std::as_bytes(std::span(challenge.nonce)));
}

std::span<const std::byte> whole(const LinkChallenge& challenge) {
  return std::as_bytes(std::span(&challenge, 1));
}

LinkKey session_key(const LinkKey& key, std::string_view label, const LinkHello& hello,
                    const LinkChallenge& challenge) {
  Mac mac = keyed_hash(key, label, hello, whole(challenge));
  const LinkKey session(mac);
  sodium_memzero(mac.data(), mac.size());
  return session;
}

bool same(const Mac& mac, const std::byte (&other)[mac_bytes]) {
  return sodium_memcmp(mac.data(), other, mac_bytes) == 0;
}

}  // namespace

LinkKey::~LinkKey() { sodium_memzero(bytes_.data(), bytes_.size()); }

LinkKey LinkKey::random() {
  make_ready();
  LinkKey key(Bytes{});
  randombytes_buf(key.bytes_.data(), key.bytes_.size());
  return key;
}

LinkHello make_hello(const LinkIntroduction& introduction) {
  make_ready();
  LinkHello hello{};
  std::memcpy(hello.magic, hello_magic, sizeof hello_magic);
  hello.version = introduction.version;
  hello.from = introduction.from;
  hello.group = introduction.group;
  hello.to = introduction.to;
  hello.lane = introduction.lane;
  randombytes_buf(hello.nonce, sizeof hello.nonce);
  return hello;
}

bool is_hello(const LinkHello& hello) {
  return std::memcmp(hello.magic, hello_magic, sizeof hello_magic) == 0;
}

LinkIntroduction introduction_of(const LinkHello& hello) {
  return {hello.group, hello.from, hello.to, hello.lane, hello.version};
}

LinkChallenge make_challenge(const LinkKey& key, const LinkHello& hello) {
  make_ready();
  LinkChallenge challenge{};
  randombytes_buf(challenge.nonce, sizeof challenge.nonce);
  sign_challenge(key, hello, challenge);
  return challenge;
}

void sign_challenge(const LinkKey& key, const LinkHello& hello, LinkChallenge& challenge) {
  const Mac mac = challenge_mac(key, hello, challenge);
  std::memcpy(challenge.mac, mac.data(), sizeof challenge.mac);
}

bool verify_challenge(const LinkKey& key, const LinkHello& hello, const LinkChallenge& challenge) {
  return same(challenge_mac(key, hello, challenge), challenge.mac);
}

LinkProof make_proof(const LinkKey& key, const LinkHello& hello, const LinkChallenge& challenge) {
  const Mac mac = keyed_hash(key, proof_label, hello, whole(challenge));
  LinkProof proof;
  std::memcpy(proof.mac, mac.data(), sizeof proof.mac);
  return proof;
}

bool verify_proof(const LinkKey& key, const LinkHello& hello, const LinkChallenge& challenge,
                  const LinkProof& proof) {
  return same(keyed_hash(key, proof_label, hello, whole(challenge)), proof.mac);
}

LinkSeals derive_seals(const LinkKey& key, const LinkHello& hello, const LinkChallenge& challenge) {
  return {BatchSeal(session_key(key, connecting_label, hello, challenge)),
          BatchSeal(session_key(key, accepting_label, hello, challenge))};
}

std::array<std::byte, tag_bytes> BatchSeal::next_tag(std::span<const std::byte> batch) {
  unsigned char once[crypto_onetimeauth_KEYBYTES];
  unsigned char nonce[crypto_stream_chacha20_NONCEBYTES];
  std::memcpy(nonce, &sequence_, sizeof nonce);
  ++sequence_;
  crypto_stream_chacha20(once, sizeof once, nonce, bytes_of(key_.bytes().data()));
  crypto_onetimeauth_state state;
  crypto_onetimeauth_init(&state, once);
  crypto_onetimeauth_update(&state, bytes_of(batch.data()), offsetof(BatchHeader, tag));
  const std::span body = batch.subspan(sizeof(BatchHeader));
  crypto_onetimeauth_update(&state, bytes_of(body.data()), body.size());
  std::array<std::byte, tag_bytes> tag;
  crypto_onetimeauth_final(&state, bytes_of(tag.data()));
  sodium_memzero(once, sizeof once);
  sodium_memzero(&state, sizeof state);
  return tag;
}

void BatchSeal::sign(std::span<std::byte> batch) {
  const auto tag = next_tag(batch);
  std::memcpy(batch.data() + offsetof(BatchHeader, tag), tag.data(), tag.size());
}

bool BatchSeal::verify(std::span<const std::byte> batch) {
  const auto tag = next_tag(batch);
  return sodium_memcmp(tag.data(), batch.data() + offsetof(BatchHeader, tag), tag.size()) == 0;
}

}  // namespace millrace::transport
