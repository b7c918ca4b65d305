// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "base/result.hpp"

#include <array>
#include <cerrno>
#include <cstring>

namespace millrace {

Status Status::from_errno(int error) {
  switch (error) {
    case 0:
      return {};
    case ENOSPC:
      return {Code::no_space, error};
    case EDQUOT:
      return {Code::quota, error};
    case EACCES:
    case EPERM:
      return {Code::access, error};
    case EROFS:
      return {Code::read_only, error};
    case ENOENT:
    case ENOTDIR:
      return {Code::not_found, error};
    case EFBIG:
    case EOVERFLOW:
      return {Code::too_big, error};
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return {Code::no_memory, error};
    case EINVAL:
      return {Code::invalid, error};
    case ENOTSUP:
    case ENOSYS:
      return {Code::unsupported, error};
    default:
      return {Code::io, error};
  }
}

namespace {

const char* sentence(Code code) {
  switch (code) {
    case Code::ok:
      return "no error";
    case Code::invalid:
      return "an argument is not valid";
    case Code::no_space:
      return "the file system is full: free some space, then write the file again";
    case Code::quota:
      return "the disk quota is used up: free some space, then write the file again";
    case Code::io:
      return "the storage reported an I/O error: the file is not complete; check the storage, then write the "
             "file "
             "again";
    case Code::access:
      return "permission denied";
    case Code::read_only:
      return "the file system is mounted read-only";
    case Code::not_found:
      return "no such file or directory";
    case Code::lost_agent:
      return "the Millrace agent of this node has gone: bytes that are in neither the file nor a journal are "
             "lost. Run millrace recover if a line names journals. Otherwise write the file again";
    case Code::lost_peer:
      return "another rank died before it closed the file, or the agent of another node cannot be "
             "reached: the last writes may be missing; write the file again";
    case Code::timeout:
      return "the Millrace agent did not answer within MILLRACE_TIMEOUT, or its file system within "
             "MILLRACE_STORAGE_TIMEOUT: bytes may be missing in the file. Check whether the agent runs and "
             "the "
             "file system answers. Then write the file again";
    case Code::corrupt:
      return "a checksum does not match: the data was damaged on its way to the file; write the file again";
    case Code::unsupported:
      return "not supported here";
    case Code::too_big:
      return "the file would be larger than the file system allows";
    case Code::no_memory:
      return "out of memory or of descriptors";
    case Code::refused:
      return "two agents could not agree that they belong to the same job: check whether another "
             "program answers at that address, and whether every node runs the same Millrace";
  }
  return "unknown error";
}

}  // namespace

std::string Status::describe() const {
  std::string text = sentence(code_);
  if (error_ != 0) {
    text += " (";
    std::array<char, 128> room{};
    text += words_of_errno(error_, room);
    text += ")";
  }
  return text;
}

}  // namespace millrace
